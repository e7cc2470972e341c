package foreign

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/coordkit/coordkit/internal/testserver"
)

//go:embed kazoo_worker.py
var kazooWorker string

// kazooPackages are kazoo and what its Lock takes, with the versions of Debian
// 12. The package python3-kazoo asks for more, for other ways to run threads.
var kazooPackages = []testserver.DebianPackage{{
	Name: "python3-kazoo", Version: "2.8.0-2",
	SHA256: "ed78410abcc2731780e72a7d0e21b2c03e27bf70515d6421d6afe1b32d60e4bb",
}, {
	Name: "python3-six", Version: "1.16.0-4",
	SHA256: "fd189e9cecbcf17a1fc20aec30055c8afa9c1eec00cd6e7ab385087a2ab3b0d3",
}}

// Kazoo returns a worker that takes locks by kazoo's Lock on the given ZooKeeper
// servers, each host:port, with TLS if there are files for it. kazoo is downloaded
// first if need be. ctx bounds that and the worker's start, not its life. Without a
// python3 on the machine it returns an error that says so.
func Kazoo(ctx context.Context, servers []string, tls *testserver.TLSFiles) (*Peer, error) {
	const name = "kazoo"
	python, err := exec.LookPath("python3")
	if err != nil {
		return nil, fmt.Errorf("%s: it needs Python 3, such as Debian's package python3: %w", name, err)
	}
	root, err := testserver.Unpacked(ctx, name, kazooPackages, io.Discard)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	modules := filepath.Join(root, "usr/lib/python3/dist-packages")
	// Isolated: neither the environment nor what else is installed has a say.
	args := []string{"-IS", "-c", kazooWorker, modules, strings.Join(servers, ",")}
	if tls != nil {
		args = append(args, tls.CA, tls.ClientCert, tls.ClientKey)
	}
	return start(ctx, name, exec.Command(python, args...))
}
