package testserver

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// debianServer is a server that is run from unpacked packages of Debian 12.
type debianServer struct {
	name     string
	override string          // environment variable that names another directory
	program  string          // the server's program, from the directory
	packages []DebianPackage // the first is that of the program
	// fill makes a data directory of the server below root. It runs tools in the
	// directory of t, and the result is the directory data there. It depends on the
	// program and on setup only. fill is nil if the server keeps no data.
	fill  func(ctx context.Context, s debianServer, root string, t tool) error
	setup string
}

// get returns the directory below which the files of the packages are, and a data
// directory that a new server starts with a copy of.
func (s debianServer) get(ctx context.Context, progress io.Writer) (root, template string, err error) {
	root, err = s.root(ctx, progress)
	if err == nil && s.fill != nil {
		template, err = s.template(ctx, root, progress)
	}
	return root, template, err
}

func (s debianServer) root(ctx context.Context, progress io.Writer) (string, error) {
	dir := os.Getenv(s.override)
	if dir == "" {
		return Unpacked(ctx, s.name, s.packages, progress)
	}
	if !exists(filepath.Join(dir, s.program)) {
		return "", fmt.Errorf("%s: expected a directory that holds %s, such as / where the server is installed; %s does not", s.override, s.program, dir)
	}
	return filepath.Abs(dir)
}

// release looks at what was unpacked.
func (s debianServer) release(ctx context.Context, progress io.Writer) (Release, error) {
	root, _, err := s.get(ctx, progress)
	if err != nil {
		return Release{}, err
	}
	r := Release{Server: s.name, Version: unknown, Path: filepath.Join(root, s.program)}
	if os.Getenv(s.override) != "" {
		r.Instead = []string{fmt.Sprintf("%s of %s, recorded is %s", s.name, root, s.packages[0].Version)}
		return r, nil
	}
	all, err := readTaken(root)
	if err != nil {
		return Release{}, err
	}
	r.Version, r.Instead = all.version(s.packages[0].Name), all.instead(asDebs(s.packages))
	return r, nil
}

// libraryPath returns the environment of programs below root: this program's own
// without the variables that are meant for other servers and their clients, and
// with the libraries of the packages.
func libraryPath(root string) []string {
	var dirs []string
	for _, pattern := range []string{"usr/lib/*-linux-gnu*", "lib/*-linux-gnu*"} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err == nil {
			dirs = append(dirs, found...)
		}
	}
	return append(environWithout("PG", "MYSQL", "MARIADB", "LD_LIBRARY_PATH="), "LD_LIBRARY_PATH="+strings.Join(dirs, ":"))
}

func (s debianServer) template(ctx context.Context, root string, progress io.Writer) (string, error) {
	repository, err := repositoryRoot()
	if err != nil {
		return "", err
	}
	program, err := os.Stat(filepath.Join(root, s.program))
	if err != nil {
		return "", err
	}
	hash := sha256.Sum256(fmt.Append(nil, s.setup, program.Size(), program.ModTime().Unix()))
	path, err := artifact{
		server: s.name + "-data",
		target: fmt.Sprintf("%s-data-%x", s.name, hash[:6]),
		make: func(ctx context.Context, scratch string, progress io.Writer) (string, error) {
			t := tool{dir: scratch, env: libraryPath(root), unprivileged: true, progress: progress}
			return filepath.Join(scratch, "data"), s.fill(ctx, s, root, t)
		},
	}.get(ctx, repository, progress)
	if err != nil {
		return "", fmt.Errorf("initialize the data of %s: %w", s.name, err)
	}
	return path, nil
}

// copyTemplate makes the data directory of member 0 out of a template.
func (c *cluster) copyTemplate(ctx context.Context, template string) (string, error) {
	data := filepath.Join(c.dir.path, memberName(0))
	return data, tool{dir: c.dir.path, unprivileged: true, progress: io.Discard}.run(ctx, "cp", "-R", template, data)
}
