package testserver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// runDirPattern matches the directories of this package in [os.TempDir].
const runDirPattern = "coordkit-servers-*"

// runDir is the temporary directory of one set of servers: their data, logs and
// certificates.
type runDir struct {
	path string
	// lock is the open directory itself, locked. The servers inherit it, so that
	// the directory counts as in use until the last of them is gone.
	lock *os.File
}

// newRunDir sweeps what earlier programs left and makes a new locked directory.
func newRunDir() (*runDir, error) {
	// What cannot be swept is no reason to refuse to start; Sweep tells.
	_ = Sweep()

	// A sweep by another process may take the directory between its creation and
	// its locking; then there is no harm in making another.
	const attempts = 100
	for range attempts {
		path, err := os.MkdirTemp("", runDirPattern)
		if err != nil {
			return nil, fmt.Errorf("make a directory for servers: %w", err)
		}
		lock, err := lockDir(path)
		if err != nil {
			return nil, err
		}
		if lock != nil {
			return &runDir{path: path, lock: lock}, nil
		}
	}
	return nil, fmt.Errorf("make a directory for servers in %s: lost %d of them to other processes", os.TempDir(), attempts)
}

// lockDir opens and locks the directory at path. It returns nil without an error
// if the directory is gone or somebody else's.
func lockDir(path string) (*os.File, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	locked, err := tryLock(f)
	// A lock says nothing about the path if the directory was removed between
	// the opening and the locking.
	if locked && isAt(f, path) {
		return f, nil
	}
	return nil, errors.Join(err, f.Close())
}

// isAt reports whether the open file f is what path names.
func isAt(f *os.File, path string) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	named, err := os.Stat(path)
	return err == nil && os.SameFile(open, named)
}

// remove deletes the directory with all it holds and gives up its lock.
func (d *runDir) remove() error {
	return errors.Join(removeSharedMemory(d.path), os.RemoveAll(d.path), d.lock.Close())
}

// sub makes the directory name below d and returns its path.
func (d *runDir) sub(name string) (string, error) {
	path := filepath.Join(d.path, name)
	return path, os.Mkdir(path, 0o700)
}

// Sweep removes the directories that programs which died without closing their
// servers have left in [os.TempDir]. It leaves alone those in use and those it
// has no right to open. Starting a server sweeps too.
func Sweep() error {
	paths, err := filepath.Glob(filepath.Join(os.TempDir(), runDirPattern))
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range paths {
		lock, err := lockDir(path)
		if errors.Is(err, fs.ErrPermission) || lock == nil && err == nil {
			continue
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("sweep: %w", err))
			continue
		}
		errs = append(errs, (&runDir{path: path, lock: lock}).remove())
	}
	return errors.Join(errs...)
}
