package testserver

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// serverModule is a nested module whose main package is a store's server.
type serverModule struct {
	name     string // of the server
	override string // environment variable that names a binary to use instead
	dir      string // of the nested module, relative to the repository's root
	upstream string // module whose version is the server's
}

// binary returns the path of the server, which it builds first unless it is
// there. It tells progress about a build; ctx bounds all.
func (m serverModule) binary(ctx context.Context, progress io.Writer) (string, error) {
	if value := os.Getenv(m.override); value != "" {
		path, err := exec.LookPath(value)
		if err != nil {
			return "", fmt.Errorf("%s: expected the path of the %s server: %w", m.override, m.name, err)
		}
		return filepath.Abs(path)
	}
	path := ""
	root, err := repositoryRoot()
	if err == nil {
		path, err = m.build(ctx, root, progress)
	}
	if err != nil {
		return "", fmt.Errorf("build the %s server (or set %s to a ready one): %w", m.name, m.override, err)
	}
	return path, nil
}

// build returns the path of the server in the cache of the repository at root,
// after building it if it is not there.
func (m serverModule) build(ctx context.Context, root string, progress io.Writer) (string, error) {
	source := filepath.Join(root, m.dir)
	target, err := m.target(source)
	if err != nil {
		return "", err
	}
	compile := func(ctx context.Context, scratch string, progress io.Writer) (string, error) {
		return m.compile(ctx, source, scratch, progress)
	}
	return artifact{server: m.name, target: target, make: compile}.get(ctx, root, progress)
}

// target names the server's file: by its version for people, and by a hash of
// all it is built from, so that a change of any gives another file.
func (m serverModule) target(source string) (string, error) {
	version, err := requiredVersion(filepath.Join(source, "go.mod"), m.upstream)
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		content, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%s %d\n%s", name, len(content), content)
	}
	return fmt.Sprintf("%s-%s-%x", m.name, version, hash.Sum(nil)[:6]), nil
}

// compile builds the module in source and returns the path of the server, which
// is in scratch.
func (m serverModule) compile(ctx context.Context, source, scratch string, progress io.Writer) (string, error) {
	output := filepath.Join(scratch, m.name)
	compiler := tool{
		dir: source,
		// The server is built alike whatever the tests are built with.
		env:      append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0", "GOTMPDIR="+scratch),
		progress: progress,
	}
	err := compiler.run(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", output, ".")
	return output, err
}
