package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The pages have the verdicts by the present targets.
func TestPagesAreJudged(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join("results", "*", "results.json"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	for _, data := range pages {
		dir := filepath.Dir(data)
		raw, err := os.ReadFile(data)
		if err != nil {
			t.Error(err)
			continue
		}
		if !bytes.Contains(raw, []byte(`"network"`)) {
			continue // older pages name no network, and have verdicts of another form
		}
		want, err := judged(dir)
		if err != nil {
			t.Error(err)
			continue
		}
		if text, err := os.ReadFile(filepath.Join(dir, "README.md")); err != nil || string(text) != want {
			t.Errorf("%s was judged by other targets: go run . -judge %s (%v)", dir, dir, err)
		}
	}
}

func TestJudgeAnew(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fails := func(what string) {
		t.Helper()
		if err := judgeAnew(dir); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("it says %v; want something about %s", err, what)
		}
	}
	fails("results.json")
	write("results.json", "{")
	fails("results.json")
	write("results.json", `{"contests":[{"store":"etcd","members":1,"case":"contention-8","entries":[{"side":"coordkit","median":9},{"side":"Mutex","median":10,"coordkit_ratio":0.9}]}]}`)
	write("README.md", "of old\n")
	fails("Targets")
	write("README.md", "of old\n\n## Targets\n\n1 met\n")
	if err := judgeAnew(dir); err != nil {
		t.Fatal(err)
	}
	text, _ := os.ReadFile(filepath.Join(dir, "README.md"))
	if s := string(text); !strings.HasPrefix(s, "of old\n\n## Targets\n\n0 met, 0 tied, 1 not met, ") ||
		!strings.Contains(s, "| etcd | 1 | loopback | contention-8 | times Mutex | ≥ 1 | 0.90 | **not met** |") {
		t.Errorf("the page is\n%s", s)
	}
}

func TestJudgeMicro(t *testing.T) {
	file := filepath.Join(t.TempDir(), "micro.txt")
	var out strings.Builder
	if err := judgeMicro(&out, file); err == nil {
		t.Error("a file that is not there was judged")
	}
	if err := os.WriteFile(file, []byte("BenchmarkUncontended/mutex-2 100 2500 ns/op 9 allocs/op\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := judgeMicro(&out, file); err != nil || !strings.Contains(out.String(), "1 met, 0 tied, 1 not met, 2 not measured") {
		t.Errorf("%v:\n%s", err, out.String())
	}
}
