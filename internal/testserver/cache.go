package testserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// cacheDir is where servers are kept once they were built or installed, below
// the repository's root.
const cacheDir = ".servers"

// artifact is a server as it is kept in the cache: a file or a directory.
type artifact struct {
	server string // as in the names of the lock and of the directory it is made in
	target string // its name in the cache, another one for other content; "*" is for what only make knows
	// make makes it below the empty directory scratch, which is removed
	// afterwards, and returns its path there, under the name that it is to have
	// if target has a "*". It tells progress.
	make func(ctx context.Context, scratch string, progress io.Writer) (string, error)
}

// get returns the path of the artifact in the cache of the repository at root,
// after making it unless it is there. Of several processes that want it at once
// one makes it and the others wait. ctx bounds all.
func (a artifact) get(ctx context.Context, root string, progress io.Writer) (string, error) {
	cache := filepath.Join(root, cacheDir)
	if path, ok := a.find(cache); ok {
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
	if path, ok := a.find(cache); ok {
		return path, nil // another process has made it meanwhile
	}
	fmt.Fprintf(progress, "building %s\n", a.target)
	started := time.Now()
	path, err := a.makeIn(ctx, cache, progress)
	if err != nil {
		return "", err
	}
	fmt.Fprintf(progress, "built %s in %v\n", path, time.Since(started).Round(time.Second))
	return path, nil
}

// find returns the path of the artifact if it is there.
func (a artifact) find(cache string) (path string, ok bool) {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return "", false // making it tells more
	}
	for _, e := range entries {
		if match, err := filepath.Match(a.target, e.Name()); err == nil && match {
			return filepath.Join(cache, e.Name()), true
		}
	}
	return "", false
}

// makeIn makes the artifact and moves it to the cache when it is complete, for a
// caller that holds the server's lock.
func (a artifact) makeIn(ctx context.Context, cache string, progress io.Writer) (path string, err error) {
	// One name, so that what an interrupted attempt has left goes with the next.
	scratch := filepath.Join(cache, a.server+".build")
	if err := os.RemoveAll(scratch); err != nil {
		return "", err
	}
	if err := os.Mkdir(scratch, 0o755); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	made, err := a.make(ctx, scratch, progress)
	if err != nil {
		return "", err
	}
	name := a.target
	if strings.Contains(name, "*") {
		name = filepath.Base(made)
	}
	path = filepath.Join(cache, name)
	return path, os.Rename(made, path)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
