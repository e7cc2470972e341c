package testserver

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

func TestSweepTakesOnlyWhatNobodyUses(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	used, err := newRunDir()
	must(t, err)
	left, err := newRunDir()
	must(t, err)
	data, err := left.sub("data")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(data, "file"), []byte("x"), 0o600))
	must(t, left.lock.Close()) // as the kernel does when the owner dies

	must(t, Sweep())
	if _, err := os.Stat(left.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an abandoned directory remains: %v", err)
	}
	if _, err := os.Stat(used.path); err != nil {
		t.Errorf("a directory in use was swept: %v", err)
	}
	must(t, used.remove())
}

// While a server is dying after its owner it may still write, so the directory
// is not to be swept before it is gone.
func TestSweepWaitsForTheServer(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	dir, err := newRunDir()
	must(t, err)
	p, err := startProcess(command{name: "sleep", path: "/bin/sh", args: []string{"-c", "exec sleep 1000"}, dir: dir, log: filepath.Join(dir.path, "log")})
	must(t, err)
	defer func() { must(t, p.close()) }()
	must(t, dir.lock.Close())

	must(t, Sweep())
	if _, err := os.Stat(dir.path); err != nil {
		t.Fatalf("swept under a live server: %v", err)
	}
	must(t, p.Kill())
	must(t, Sweep())
	if _, err := os.Stat(dir.path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("an abandoned directory remains: %v", err)
	}
}

// Every start sweeps, and may meet the directory of another that is not locked
// yet.
func TestStartsAndSweepsAtOnce(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 50 {
				dir, err := newRunDir()
				if err != nil {
					t.Error(err)
					return
				}
				if !isAt(dir.lock, dir.path) {
					t.Errorf("%s was swept from under its owner", dir.path)
				}
				if err := dir.remove(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wait.Wait()
	left, err := os.ReadDir(tmp)
	must(t, err)
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
