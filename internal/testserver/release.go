package testserver

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Release is a server as it is run.
type Release struct {
	// Server is "etcd", "zookeeper", "postgres", "mariadb", "pgbouncer" or "consul".
	Server string
	// Version is what is run, by what it was built or taken from; "unknown" if
	// that does not tell.
	Version string
	// Path is the server's program, or the directory of its jars.
	Path string
	// Instead says, if what is run is not what the tests were written with, what
	// there is instead of what; else it is empty.
	Instead []string
}

// Releases returns the servers that the tests run, or only those that are named as
// in Release. It builds or installs them first if need be, and then tells progress
// about it. ctx bounds all.
func Releases(ctx context.Context, progress io.Writer, names ...string) ([]Release, error) {
	var all []Release
	for _, server := range []struct {
		name string
		get  func(context.Context, io.Writer) (Release, error)
	}{
		{etcdServer.name, etcdServer.release}, {"zookeeper", zookeeperRelease}, {postgresServer.name, postgresServer.release},
		{mariadbServer.name, mariadbServer.release}, {pgbouncerServer.name, pgbouncerServer.release}, {consulServer.name, consulServer.release},
	} {
		if len(names) > 0 && !slices.Contains(names, server.name) {
			continue
		}
		r, err := server.get(ctx, progress)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// release looks at what the binary was built from.
func (m serverModule) release(ctx context.Context, progress io.Writer) (Release, error) {
	path, err := m.binary(ctx, progress)
	if err != nil {
		return Release{}, err
	}
	root, err := repositoryRoot()
	if err != nil {
		return Release{}, err
	}
	recorded, err := requiredVersion(filepath.Join(root, m.dir, "go.mod"), m.upstream)
	if err != nil {
		return Release{}, err
	}
	r := Release{Server: m.name, Version: builtFrom(path, m.upstream), Path: path}
	if r.Version != recorded {
		r.Instead = []string{fmt.Sprintf("%s %s, recorded is %s", m.name, r.Version, recorded)}
	}
	return r, nil
}

const unknown = "unknown"

// builtFrom returns the version of a module in a program.
func builtFrom(path, module string) string {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return unknown // it may be a script
	}
	for _, m := range append(info.Deps, &info.Main) {
		if m.Path == module && m.Version != "" {
			return m.Version
		}
	}
	return unknown
}

// zookeeperRelease looks at what the jars were taken from.
func zookeeperRelease(ctx context.Context, progress io.Writer) (Release, error) {
	dir, err := ZooKeeperJars(ctx, progress)
	if err != nil {
		return Release{}, err
	}
	r := Release{Server: "zookeeper", Version: unknown, Path: dir}
	recorded := zookeeperPackages[0]
	if os.Getenv(EnvZooKeeper) != "" {
		if jars, err := filepath.Glob(filepath.Join(dir, "zookeeper-[0-9]*.jar")); err == nil && len(jars) > 0 {
			r.Version = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(jars[0]), "zookeeper-"), ".jar")
		}
		r.Instead = []string{fmt.Sprintf("zookeeper %s, recorded is %s", r.Version, recorded.version)}
		return r, nil
	}
	all, err := readTaken(dir)
	if err != nil {
		return Release{}, err
	}
	if r.Version = all.version(zookeeperInstalled); r.Version != "" {
		r.Instead = []string{fmt.Sprintf("zookeeper %s of %s, recorded is %s", r.Version, systemJars, recorded.version)}
		return r, nil
	}
	r.Version, r.Instead = all.version(recorded.name), all.instead(zookeeperPackages)
	return r, nil
}
