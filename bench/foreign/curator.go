package foreign

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/coordkit/coordkit/internal/testserver"
)

//go:embed CuratorWorker.java
var curatorWorker []byte

// curatorPackages are Curator's lock and what it takes besides ZooKeeper's
// client, with the versions of Debian 12.
var curatorPackages = []testserver.DebianPackage{{
	Name: "libcurator-client-java", Version: "5.4.0-3",
	SHA256: "f5c68216a3c61ee0cff8c125c613d2b54b85d3e42944a1b9c37bc50e96667f7e",
}, {
	Name: "libcurator-framework-java", Version: "5.4.0-3",
	SHA256: "329245776a3c75463b61e8d50d66fb86db56e55d840a7b31fcff146ca0ea3a17",
}, {
	Name: "libcurator-recipes-java", Version: "5.4.0-3",
	SHA256: "f931d28d36f9cb95f90057ecbc3fa194cf98d6f428476640a5420259c40e1bbd",
}, {
	Name: "libguava-java", Version: "31.1-1",
	SHA256: "ab86cff2d96c47ec50ddc611f68d33ba45d51e2d503fb4596ea7f0fa9fdd308c",
}}

// curatorJars are what the worker takes of the packages. The others that these
// ask for serve parts of Curator that a lock makes no use of.
var curatorJars = []string{"curator-recipes.jar", "curator-framework.jar", "curator-client.jar", "guava.jar"}

// Curator returns a worker that takes locks by Curator's InterProcessMutex on
// the given ZooKeeper servers, each host:port, with TLS if there are files for it.
// Curator is downloaded first if need be. ctx bounds that and the worker's start,
// not its life. The ZooKeeper
// client below Curator is the one that comes with the server, see
// [testserver.ZooKeeperJars]. Without a Java runtime on the machine it returns an
// error that says so.
func Curator(ctx context.Context, servers []string, tls *testserver.TLSFiles) (_ *Peer, err error) {
	const name = "curator"
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, fmt.Errorf("%s: it needs a Java runtime, such as Debian's package default-jre-headless: %w", name, err)
	}
	root, err := testserver.Unpacked(ctx, name, curatorPackages, io.Discard)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	zookeeper, err := testserver.ZooKeeperJars(ctx, io.Discard)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	jars := filepath.Join(root, "usr/share/java")
	var classPath []string
	for _, jar := range curatorJars {
		classPath = append(classPath, filepath.Join(jars, jar))
	}
	classPath = append(classPath, filepath.Join(zookeeper, "*"))

	source, err := unnamed(curatorWorker)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	defer func() { err = errors.Join(err, source.Close()) }()
	args := []string{"-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", strings.Join(classPath, ":")}
	files := []*os.File{source}
	if tls != nil {
		store, err := keyStore(tls)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		defer store.Close()
		args, files = append(args, tlsProperties("/dev/fd/4", tls.CA)...), append(files, store)
	}
	// Java compiles a program that it is given as source, in memory.
	args = append(args, "--source=11", "/dev/fd/3", strings.Join(servers, ","), curatorVersion(jars))
	cmd := exec.Command(java, args...)
	cmd.ExtraFiles = files
	cmd.Env = javaEnv()
	return start(ctx, name, cmd)
}

// keyStore returns a client's key and certificate in one file, as ZooKeeper's client
// wants them.
func keyStore(tls *testserver.TLSFiles) (*os.File, error) {
	key, err := os.ReadFile(tls.ClientKey)
	if err != nil {
		return nil, err
	}
	cert, err := os.ReadFile(tls.ClientCert)
	if err != nil {
		return nil, err
	}
	return unnamed(slices.Concat(key, cert))
}

// tlsProperties has ZooKeeper's client in Java use TLS.
func tlsProperties(keyStore, ca string) []string {
	return []string{
		"-Dzookeeper.client.secure=true",
		"-Dzookeeper.clientCnxnSocket=org.apache.zookeeper.ClientCnxnSocketNetty", // the other has no TLS
		"-Dzookeeper.ssl.keyStore.location=" + keyStore, "-Dzookeeper.ssl.keyStore.type=PEM",
		"-Dzookeeper.ssl.trustStore.location=" + ca, "-Dzookeeper.ssl.trustStore.type=PEM",
	}
}

// unnamed returns an open file with a text. It has no name any more, so nothing need
// remove it.
func unnamed(text []byte) (*os.File, error) {
	f, err := os.CreateTemp("", "coordkit-curator-*")
	if err != nil {
		return nil, err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, os.Remove(f.Name())); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// curatorVersion is Curator's, as of the name that its jar has besides the plain
// one.
func curatorVersion(jars string) string {
	prefix, suffix := filepath.Join(jars, "curator-recipes-"), ".jar"
	if paths, err := filepath.Glob(prefix + "*" + suffix); err == nil && len(paths) == 1 {
		return strings.TrimSuffix(strings.TrimPrefix(paths[0], prefix), suffix)
	}
	return "of an unknown version"
}

// javaEnv is this program's environment without what is set for other Java
// programs.
func javaEnv() []string {
	return slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains([]string{"JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH"}, name)
	})
}
