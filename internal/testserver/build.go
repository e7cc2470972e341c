package testserver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"
)

// cacheDir is where built servers are kept, below the repository's root.
const cacheDir = ".servers"

// serverModule is a nested module whose main package is a store's server.
type serverModule struct {
	name     string // of the server
	override string // environment variable that names a binary to use instead
	dir      string // of the nested module, relative to the repository's root
	upstream string // module whose version is the server's
}

// binary returns the path of the server, which it builds first unless it is
// there. Of several processes that want it at once one builds and the others
// wait. It tells progress about a build; ctx bounds all.
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
	cache := filepath.Join(root, cacheDir)
	path := filepath.Join(cache, target)
	if exists(path) {
		return path, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	lock, err := lockFile(ctx, filepath.Join(cache, m.name+".lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if exists(path) {
		return path, nil // another process has built it meanwhile
	}
	fmt.Fprintf(progress, "building %s\n", target)
	started := time.Now()
	if err := m.compile(ctx, source, path, progress); err != nil {
		return "", err
	}
	fmt.Fprintf(progress, "built %s in %v\n", path, time.Since(started).Round(time.Second))
	return path, nil
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

// compile builds the module in source and moves the result to path, for a caller
// that holds the server's lock.
func (m serverModule) compile(ctx context.Context, source, path string, progress io.Writer) (err error) {
	// One name, so that what an interrupted build has left goes with the next.
	scratch := filepath.Join(filepath.Dir(path), m.name+".build")
	if err := os.RemoveAll(scratch); err != nil {
		return err
	}
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()

	output := filepath.Join(scratch, m.name)
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w", "-o", output, ".")
	cmd.Dir = source
	// The server is built alike whatever the tests are built with.
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "CGO_ENABLED=0", "GOTMPDIR="+scratch)
	var said bytes.Buffer
	cmd.Stdout = io.MultiWriter(&said, progress)
	cmd.Stderr = cmd.Stdout
	// The compilers it starts must end with it, so ctx kills the whole group, and
	// the kernel kills it with this program.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	runtime.LockOSThread() // as in command.start
	defer runtime.UnlockOSThread()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("go build in %s: %w\n%s", source, errors.Join(err, ctx.Err()), said.Bytes())
	}
	return os.Rename(output, path)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
