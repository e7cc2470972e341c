package testserver

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// toyRepository holds a nested module that needs no network to build.
func toyRepository(t *testing.T) (root string, m serverModule) {
	root = t.TempDir()
	files := map[string]string{
		"toybin/go.mod":          "module example.com/toybin\n\ngo 1.26.0\n\nrequire example.com/toy v1.2.3\n\nreplace example.com/toy => ./upstream\n",
		"toybin/go.sum":          "",
		"toybin/main.go":         "package main\n\nfunc main() { println(\"toy\") }\n",
		"toybin/upstream/go.mod": "module example.com/toy\n",
	}
	for name, content := range files {
		path := filepath.Join(root, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(content), 0o644))
	}
	return root, serverModule{name: "toy", override: "COORDKIT_TOY", dir: "toybin", upstream: "example.com/toy"}
}

func TestBuildOnceForAll(t *testing.T) {
	root, m := toyRepository(t)
	const callers = 4
	paths := make([]string, callers)
	progress := make([]bytes.Buffer, callers)
	var wait sync.WaitGroup
	for i := range callers {
		wait.Go(func() {
			var err error
			if paths[i], err = m.build(patient(t), root, &progress[i]); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if t.Failed() {
		return
	}
	builds := 0
	for i := range callers {
		builds += strings.Count(progress[i].String(), "building toy-v1.2.3-")
		if paths[i] != paths[0] {
			t.Errorf("two paths: %s and %s", paths[0], paths[i])
		}
	}
	if builds != 1 {
		t.Errorf("built %d times, want once", builds)
	}
	if said, err := exec.Command(paths[0]).CombinedOutput(); err != nil || string(said) != "toy\n" {
		t.Errorf("what was built says %q, %v", said, err)
	}
	left, err := os.ReadDir(filepath.Join(root, cacheDir))
	must(t, err)
	if len(left) != 2 {
		t.Errorf("the cache holds %v, want the server and its lock", left)
	}
}

func TestChangedModuleIsBuiltAnew(t *testing.T) {
	root, m := toyRepository(t)
	first, err := m.target(filepath.Join(root, m.dir))
	must(t, err)
	for _, name := range []string{"go.mod", "go.sum", "main.go"} {
		f, err := os.OpenFile(filepath.Join(root, m.dir, name), os.O_APPEND|os.O_WRONLY, 0)
		must(t, err)
		_, err = f.WriteString("\n")
		must(t, errors.Join(err, f.Close()))
		next, err := m.target(filepath.Join(root, m.dir))
		must(t, err)
		if next == first {
			t.Errorf("%s is still the name after %s changed", next, name)
		}
		first = next
	}
}

func TestFailedBuildTellsWhyAndLeavesNothing(t *testing.T) {
	root, m := toyRepository(t)
	must(t, os.WriteFile(filepath.Join(root, m.dir, "main.go"), []byte("package main\n\nfunc main() { nonsense() }\n"), 0o644))
	var progress bytes.Buffer
	_, err := m.build(patient(t), root, &progress)
	if err == nil || !strings.Contains(err.Error(), "undefined: nonsense") {
		t.Errorf("build: %v, expected the compiler's words", err)
	}
	left, err := os.ReadDir(filepath.Join(root, cacheDir))
	must(t, err)
	if len(left) != 1 || left[0].Name() != "toy.lock" {
		t.Errorf("the cache holds %v, want the lock alone", left)
	}
}

func TestBuildEndsWithItsContext(t *testing.T) {
	root, m := toyRepository(t)
	cache := filepath.Join(root, cacheDir)
	must(t, os.Mkdir(cache, 0o755))
	lock, err := lockFile(t.Context(), filepath.Join(cache, "toy.lock")) // somebody else builds
	must(t, err)
	defer lock.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.build(ctx, root, &bytes.Buffer{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("build: %v, want %v", err, context.Canceled)
	}
}

func TestReadyBinaryIsTaken(t *testing.T) {
	_, m := toyRepository(t)
	ready := filepath.Join(t.TempDir(), "ready")
	must(t, os.WriteFile(ready, []byte("#!/bin/sh\n"), 0o755))
	t.Setenv(m.override, ready)
	got, err := m.binary(t.Context(), &bytes.Buffer{})
	must(t, err)
	if got != ready {
		t.Errorf("got %s, want %s", got, ready)
	}

	t.Setenv(m.override, filepath.Join(t.TempDir(), "missing"))
	if _, err := m.binary(t.Context(), &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), m.override) {
		t.Errorf("missing binary: %v, expected an error that names %s", err, m.override)
	}
}

func TestRepositoryRootFromAnywhere(t *testing.T) {
	want, err := filepath.Abs("../..")
	must(t, err)
	for _, dir := range []string{".", "etcdbin", "consulbin", "cmd/buildservers", t.TempDir()} {
		t.Run(dir, func(t *testing.T) {
			t.Chdir(dir)
			got, err := repositoryRoot()
			must(t, err)
			if got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}
