package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sampleSuite checks the sample in testdata.
var sampleSuite = suite{"check", []string{"sums", "the rest"}, []target{{"p", 80, nil}}}

func TestSample(t *testing.T) {
	root, err := filepath.Abs("testdata/sample")
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(t.TempDir(), "log")
	o := options{root: root, equivalents: filepath.Join(root, "equivalents.txt"), processes: 2, log: log}
	known, err := readEquivalents(o.equivalents)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := sampleSuite.run(t.Context(), o, known)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]*mutant)
	for _, m := range rows[0].mutants {
		found[m.name()] = m
	}
	for _, want := range []struct {
		name    string
		line    int
		kind    kind
		variant string
	}{
		{"p: (*Stack).Push: `len(s.numbers)+len(numbers) > s.Most` always true", 16, failed, "sums"},
		{"p: (*Stack).Push: `len(s.numbers)+len(numbers) > s.Most` never true", 16, failed, "the rest"},
		{"p: (*Stack).Push: `len(s.numbers)+len(numbers) > s.Most` → >=", 16, survived, ""},
		{"p: (*Stack).Push: `len(s.numbers)+len(numbers)` → -", 16, failed, "the rest"},
		{"p: (*Stack).Push: `errFull` returned as nil", 17, failed, "the rest"},
		{"p: (*Stack).Push: `s.numbers = append(s.numbers, numbers...)` dropped", 19, failed, "sums"},
		{"p: (*Stack).Sum: `i > 0` never true", 26, failed, "sums"},
		{"p: (*Stack).Sum: `i > 0` → >=", 26, crashed, "sums"},
		{"p: (*Stack).Sum: `0` +1", 26, failed, "sums"},
		{"p: (*Stack).Sum: `sum += s.numbers[i-1]` dropped", 27, failed, "sums"},
		{"p: (*Stack).Sum: `i-1` → +", 27, crashed, "sums"},
		{"p: (*Stack).Sum: `1` +1", 27, crashed, "sums"},
		{"p: (*Stack).Sum: `i--` dropped", 28, hung, "sums"},
		{"p: (*Stack).Empty: `s.numbers == nil` always true", 34, notReached, ""},
		{"p: (*Stack).Empty: `s.numbers == nil` never true", 34, notReached, ""},
	} {
		m := found[want.name]
		switch {
		case m == nil:
			t.Errorf("there is no mutant %s", want.name)
		case m.line != want.line || m.outcome.kind != want.kind || m.outcome.variant != want.variant:
			t.Errorf("%s: line %d, %v by %q (%s); want line %d, %v by %q", want.name, m.line,
				m.outcome.kind, m.outcome.variant, m.outcome.detail, want.line, want.kind, want.variant)
		}
		delete(found, want.name)
	}
	for name := range found {
		t.Errorf("there is another mutant %s", name)
	}
	r := rows[0]
	if r.equivalent != 2 || r.killed() != 12 || r.survive != 1 || len(r.errs) != 0 {
		t.Errorf("%d equivalent, %d killed, %d survive, errors %v; want 2, 12, 1 and none", r.equivalent, r.killed(), r.survive, r.errs)
	}
	var out strings.Builder
	if err := report(&out, rows, known); err != nil {
		t.Error(err)
	}
	if !strings.Contains(out.String(), "p/p.go:16") || !strings.Contains(out.String(), "92.3 %") {
		t.Errorf("the report does not show the survivor and the share:\n%s", out.String())
	}
	noted, err := openLog(log)
	if err != nil {
		t.Fatal(err)
	}
	noted.close()
	for _, m := range rows[0].mutants {
		was, killed := noted.killed(m)
		if killed != m.outcome.kind.killed() || killed && was != m.outcome {
			t.Errorf("%s: the log says %+v; it was %+v", m.name(), was, m.outcome)
		}
	}
	rows[0].goal = 93
	if err := report(&out, rows, known); err == nil {
		t.Error("a share below the goal is no error")
	}
}

// A package with a TestVirtual of its own is a suite, without variants and equivalents.
func TestSampleAsADriver(t *testing.T) {
	root, err := filepath.Abs("testdata/sample")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	o := options{root: root, processes: 2}
	if err := mutate(t.Context(), &out, o, []suite{suiteOf("./p")}); err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		"(*Stack).Push: `errFull` returned as nil",
		"p: 6 of 15 mutants survive",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not print %q:\n%s", want, out.String())
		}
	}
}

// An entry that fits no mutant, or one that is killed, is an error.
func TestWrongEquivalents(t *testing.T) {
	wrong := filepath.Join(t.TempDir(), "equivalents.txt")
	for entry, want := range map[string]string{
		"# A reason.\np: (*Stack).Push: `errFull` returned as nil":  "was killed",
		"# A reason.\np: (*Stack).Push: `errEmpty` returned as nil": "there is not",
		"p: (*Stack).Push: `errFull` returned as nil":               "no reason",
	} {
		if err := os.WriteFile(wrong, []byte(entry+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		known, err := readEquivalents(wrong)
		if err == nil {
			m := &mutant{pkg: "p", fn: "(*Stack).Push", source: "errFull", change: "returned as nil", outcome: outcome{kind: failed}}
			r := row{name: "p", path: "p"}
			r.add(m, known)
			err = report(new(strings.Builder), []row{r}, known)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want an error with %q", entry, err, want)
		}
	}
}
