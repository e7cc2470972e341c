package testserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// cacheDir is where servers are kept once they were built or installed, below
// the repository's root.
const cacheDir = ".servers"

// artifact is a server as it is kept in the cache: a file or a directory.
type artifact struct {
	server string // as in the names of the lock and of the directory it is made in
	target string // its name in the cache, another one for other content
	// make makes it below the empty directory scratch, which is removed
	// afterwards, and returns its path there. It tells progress.
	make func(ctx context.Context, scratch string, progress io.Writer) (string, error)
}

// get returns the path of the artifact in the cache of the repository at root,
// after making it unless it is there. Of several processes that want it at once
// one makes it and the others wait. ctx bounds all.
func (a artifact) get(ctx context.Context, root string, progress io.Writer) (string, error) {
	cache := filepath.Join(root, cacheDir)
	path := filepath.Join(cache, a.target)
	if exists(path) {
		return path, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	lock, err := lockFile(ctx, filepath.Join(cache, a.server+".lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close()
	if exists(path) {
		return path, nil // another process has made it meanwhile
	}
	fmt.Fprintf(progress, "building %s\n", a.target)
	started := time.Now()
	if err := a.makeAt(ctx, path, progress); err != nil {
		return "", err
	}
	fmt.Fprintf(progress, "built %s in %v\n", path, time.Since(started).Round(time.Second))
	return path, nil
}

// makeAt makes the artifact and moves it to path when it is complete, for a
// caller that holds the server's lock.
func (a artifact) makeAt(ctx context.Context, path string, progress io.Writer) (err error) {
	// One name, so that what an interrupted attempt has left goes with the next.
	scratch := filepath.Join(filepath.Dir(path), a.server+".build")
	if err := os.RemoveAll(scratch); err != nil {
		return err
	}
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	made, err := a.make(ctx, scratch, progress)
	if err != nil {
		return err
	}
	return os.Rename(made, path)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
