package testserver

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// EnvZooKeeper names the environment variable that names a directory to run
// ZooKeeper from instead of what is installed: all its files *.jar are loaded,
// as of the directory lib of a release.
const EnvZooKeeper = "COORDKIT_ZOOKEEPER"

// systemJars is where Debian's packages keep their jars.
const systemJars = "/usr/share/java"

// zookeeperSeries is the ZooKeeper that the tests are written for, and a file
// that only its packages have.
const (
	zookeeperSeries = "3.8"
	zookeeperMark   = "zookeeper-" + zookeeperSeries + ".*.jar"
)

// zookeeperPackages are the Debian packages that a server takes, with the
// versions of Debian 12 that the tests were last run with. The package
// libzookeeper-java asks for more, of which a server without the admin console
// makes no use.
var zookeeperPackages = []debPackage{{
	name: "libzookeeper-java", version: "3.8.0-11+deb12u2",
	sha256: "b2976f2bb4352d01713d3e40a8e047a3219c05f5fa53054e050246a6bc179053",
	jars:   []string{"zookeeper", "zookeeper-jute"},
}, {
	name: "libslf4j-java", version: "1.7.32-1",
	sha256: "38166cb6ec4a956b1f45f5baf18a115fd692c7fe0318b7cb332c4caaa7375f4e",
	jars:   []string{"slf4j-api", "slf4j-simple"},
}, {
	name: "libdropwizard-metrics-java", version: "3.2.6-1",
	sha256: "2597703fc3f830534184c71ca2749e0c819fd7a724c7603e3b6264a5fb336a37",
	jars:   []string{"metrics-core"},
}, {
	name: "libsnappy-java", version: "1.1.8.3-1",
	sha256: "529cb792389534224ba1513d55ba2c2af287c44cdf1dc8ec2d3b44474cce27d7",
	jars:   []string{"snappy-java"},
}, { // for TLS
	name: "libnetty-java", version: "1:4.1.48-7+deb12u2",
	sha256: "a8368dfd04f0dc8f6c9234fd99069106a9be0a60f7a71e6d212ab7629cd1e1a3",
	jars:   []string{"netty-buffer", "netty-codec", "netty-common", "netty-handler", "netty-resolver", "netty-transport", "netty-transport-native-epoll", "netty-transport-native-unix-common"},
}}

// ZooKeeperJars returns the directory of the jars of a ZooKeeper server. It
// installs them first, below the repository's root, if that has not been done,
// which takes some seconds, and then tells progress about it. Nothing else on
// the machine is changed. Several processes may ask at once; ctx bounds the wait
// and the installation.
func ZooKeeperJars(ctx context.Context, progress io.Writer) (string, error) {
	if dir := os.Getenv(EnvZooKeeper); dir != "" {
		if jars, err := filepath.Glob(filepath.Join(dir, "*.jar")); err != nil || len(jars) == 0 {
			return "", fmt.Errorf("%s: expected a directory with the jars of a ZooKeeper server, found none in %s", EnvZooKeeper, dir)
		}
		return filepath.Abs(dir)
	}
	path := ""
	root, err := repositoryRoot()
	if err == nil {
		path, err = zookeeperArtifact(systemJars, zookeeperPackages).get(ctx, root, progress)
	}
	if err != nil {
		return "", fmt.Errorf("install ZooKeeper %s (or set %s to a directory with its jars): %w", zookeeperSeries, EnvZooKeeper, err)
	}
	return path, nil
}

// zookeeperArtifact is the directory of the jars, with a file that tells what
// they were taken from. They are copied from the directory system if they are all
// there, as on a machine where the packages are installed, and taken from the
// packages otherwise. The directory is named by the version of ZooKeeper that was
// taken, and by a hash of the record.
func zookeeperArtifact(system string, packages []debPackage) artifact {
	hash := sha256.Sum256(fmt.Append(nil, takenFile, packages))
	named := func(version string) string {
		return fmt.Sprintf("zookeeper-%s-%x", strings.ReplaceAll(version, ":", "_"), hash[:6]) // it is to stand in a class path
	}
	return artifact{
		server: "zookeeper",
		target: named("*"),
		make: func(ctx context.Context, scratch string, progress io.Writer) (string, error) {
			jars := filepath.Join(scratch, "jars")
			var all taken
			if version, err := copyZooKeeper(system, jars); err == nil {
				fmt.Fprintf(progress, "taken from %s\n", system)
				all = taken{{zookeeperInstalled, version}}
			} else {
				root := filepath.Join(scratch, "root")
				if err := unpackPackages(ctx, packages, root, scratch, progress); err != nil {
					return "", err
				}
				if _, err := copyZooKeeper(filepath.Join(root, systemJars), jars); err != nil {
					return "", err
				}
				if all, err = readTaken(root); err != nil {
					return "", err
				}
			}
			if err := all.write(jars); err != nil {
				return "", err
			}
			path := filepath.Join(scratch, named(all[0].version)) // of ZooKeeper itself
			return path, os.Rename(jars, path)
		},
	}
}

// zookeeperInstalled stands in takenFile for jars that were there, whose files
// tell the version.
const zookeeperInstalled = "zookeeper"

// copyZooKeeper copies the jars of all packages between two directories, of
// which it makes the second one anew, and returns the version of ZooKeeper. It
// fails if one is missing or if they are not of zookeeperSeries.
func copyZooKeeper(from, to string) (version string, err error) {
	marks, err := filepath.Glob(filepath.Join(from, zookeeperMark))
	if err != nil || len(marks) == 0 {
		return "", errors.Join(err, fmt.Errorf("%s has no file %s", from, zookeeperMark))
	}
	if err := os.RemoveAll(to); err != nil {
		return "", err
	}
	if err := os.Mkdir(to, 0o755); err != nil {
		return "", err
	}
	for _, p := range zookeeperPackages {
		for _, jar := range p.jars {
			content, err := os.ReadFile(filepath.Join(from, jar+".jar"))
			if err != nil {
				return "", err
			}
			if err := os.WriteFile(filepath.Join(to, jar+".jar"), content, 0o644); err != nil {
				return "", err
			}
		}
	}
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(marks[0]), "zookeeper-"), ".jar"), nil
}
