package slate

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/coordkit/coordkit/conformance"
)

const page = "../../doc/writing-a-driver.md"

// The code on the page is that of the repository: each block of Go is a part of the file
// that the line above it links to. Indentation is not compared; a
// line of the block that is "// …" stands for any lines of the file.
func TestPageShowsTheCode(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`^\[(\S+)\]\(\.\./(\S+)\)$`)
	parts := strings.Split(string(text), "```go\n")
	if len(parts) < 10 {
		t.Fatalf("%d blocks of Go on the page; the test does not find them", len(parts)-1)
	}
	for i, part := range parts[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		above := strings.TrimSpace(parts[i])
		named := link.FindStringSubmatch(above[strings.LastIndex(above, "\n")+1:])
		if named == nil || !strings.HasSuffix(named[2], "/"+named[1]) {
			t.Errorf("above this block there is no [file](../directory/file):\n%s", block)
			continue
		}
		file, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(named[2])))
		if err != nil {
			t.Error(err)
			continue
		}
		if missing := lacks(string(file), block); missing != "" {
			t.Errorf("the page shows what is not so in %s:\n%s", named[2], missing)
		}
	}
}

// lacks returns the first run of lines of a block that does not follow in file
// after the one before it, or "".
func lacks(file, block string) string {
	rest := lines(file)
	for chunk := range strings.SplitSeq(block+"\n", "// …\n") {
		want := lines(chunk)
		at := 0
		for at+len(want) <= len(rest) && !slices.Equal(rest[at:at+len(want)], want) {
			at++
		}
		if at+len(want) > len(rest) {
			return strings.TrimSpace(chunk)
		}
		rest = rest[at+len(want):]
	}
	return ""
}

// lines returns the lines of a text without their indentation, and without
// empty ones at its ends.
func lines(text string) []string {
	all := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range all {
		all[i] = strings.TrimSpace(l)
	}
	return all
}

func TestLacks(t *testing.T) {
	const file = "package p\n\nfunc a() {\n\tx()\n\ty()\n}\n\nfunc b() {}\n"
	for block, missing := range map[string]string{
		"func a() {\n\tx()\n\ty()\n}":         "",
		"x()\ny()":                            "",
		"func a() {\n\t// …\n}\n\nfunc b()":   "}\n\nfunc b()", // a line is compared whole
		"func a() {\n\t// …\n\ty()\n}":        "",
		"func a() {\n\ty()":                   "func a() {\n\ty()",
		"func b() {}\n\n// …\n\nfunc a() {":   "func a() {",
		"func a() {\n\tx()\n\n\ty()\n}":       "func a() {\n\tx()\n\n\ty()\n}",
		"func a() {\n\tx()\n// …\nfunc c() {": "func c() {",
	} {
		if got := lacks(file, block); got != missing {
			t.Errorf("of %q there is missing %q; want %q", block, got, missing)
		}
	}
}

// The rules that the page names exist.
func TestPageNamesRules(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	ids := regexp.MustCompile(`\b[A-Z][0-9]+\b(\.[0-9])?`).FindAllString(string(text), -1)
	if len(ids) == 0 {
		t.Fatal("no rules on the page; the test does not find them")
	}
	for _, id := range ids {
		if strings.Contains(id, ".") { // a goroutine of a random program, as A2.65
			continue
		}
		if !slices.ContainsFunc(conformance.Rules(), func(r conformance.Rule) bool { return r.ID == id }) {
			t.Errorf("the page names %s, which is no rule", id)
		}
	}
}
