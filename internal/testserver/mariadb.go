package testserver

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// MariaDBOptions says how to run a MariaDB server. The zero value is a server
// without TLS that writes every commit to disk.
type MariaDBOptions struct {
	// TLS makes the server serve clients with TLS only, and demand a certificate of
	// them; see the field TLS of [MariaDB] for what they need.
	TLS bool
	// ExtraConfig is further options of the server, without the leading --, and takes
	// precedence. To give up durability for speed:
	// {"innodb-flush-log-at-trx-commit": "0"}.
	ExtraConfig map[string]string
}

// MariaDB is a running MariaDB server on loopback, member 0. Its methods may be
// called from any goroutine.
type MariaDB struct{ databases }

// NewMariaDB starts a server and returns when it serves. The server is unpacked
// first if need be. ctx bounds that, not the server's life, which ends with Close or
// with this program.
func NewMariaDB(ctx context.Context, opts MariaDBOptions) (*MariaDB, error) {
	return newMariaDB(ctx, opts, reservePort)
}

func newMariaDB(ctx context.Context, opts MariaDBOptions, reserve reserver) (*MariaDB, error) {
	root, template, err := mariadbServer.get(ctx, io.Discard)
	if err != nil {
		return nil, err
	}
	var m *MariaDB
	err = setUp("mariadb", func(c *cluster) error {
		m = &MariaDB{databases{cluster: c, client: mariadbClient(root)}}
		return m.boot(ctx, root, template, opts, reserve)
	})
	if err != nil {
		return nil, err
	}
	return m, nil
}

func (m *MariaDB) boot(ctx context.Context, root, template string, opts MariaDBOptions, reserve reserver) error {
	ports, err := m.reservePorts(1, reserve)
	if err != nil {
		return err
	}
	data, err := m.copyTemplate(ctx, template)
	if err != nil {
		return err
	}
	config := map[string]string{
		"bind-address":      "127.0.0.1",
		"port":              strconv.Itoa(ports[0].number),
		"socket":            "mariadbd.sock", // in the data directory, as a path may be too long
		"tmpdir":            m.dir.path,
		"skip-name-resolve": "ON",
	}
	if opts.TLS {
		if err := m.demandCertificates(config); err != nil {
			return err
		}
	}
	maps.Copy(config, opts.ExtraConfig)
	args := append(mariadbArgs(root, data), settings(config, "--%s=%s")...)
	cmd := m.command(0, filepath.Join(root, mariadbServer.program), m.client.env, args)
	cmd.unprivileged = true
	return m.serve(ctx, cmd, ports[0])
}

// demandCertificates makes certificates, and has the server demand TLS of all
// clients and, from its start on, a certificate of each user.
func (m *MariaDB) demandCertificates(config map[string]string) error {
	files, err := m.secureClients()
	if err != nil {
		return err
	}
	var demands strings.Builder
	for _, user := range []DatabaseUser{Admin, Owner, Limited} {
		fmt.Fprintf(&demands, "ALTER USER '%s' REQUIRE X509;\n", user)
	}
	path := filepath.Join(m.dir.path, "demands.sql")
	maps.Copy(config, map[string]string{
		"ssl-ca": files.CA, "ssl-cert": files.serverCert, "ssl-key": files.serverKey,
		"require-secure-transport": "ON", "init-file": path,
	})
	return os.WriteFile(path, []byte(demands.String()), 0o600)
}

// mariadbClient is the client mariadb.
func mariadbClient(root string) sqlClient {
	return sqlClient{
		scheme: "mysql", path: filepath.Join(root, "usr/bin/mariadb"), env: libraryPath(root),
		primary: "SELECT 1",
		args: func(c sqlClient, endpoint string, user DatabaseUser, statements []string) []string {
			host, port, err := net.SplitHostPort(endpoint)
			if err != nil {
				host = endpoint // the client tells that it is none
			}
			args := strings.Fields("--no-defaults --protocol=tcp --batch --raw --skip-column-names")
			args = append(args, "--host="+host, "--port="+port, "--user="+string(user), "--password="+DatabasePassword,
				"--database="+Database, "--execute="+strings.Join(statements, ";\n"))
			if c.tls != nil {
				args = append(args, "--ssl-verify-server-cert", "--ssl-ca="+c.tls.CA, "--ssl-cert="+c.tls.ClientCert, "--ssl-key="+c.tls.ClientKey)
			}
			return args
		},
	}
}
