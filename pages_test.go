package coordkit_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// pages returns the text of each page, by its path from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	texts := make(map[string]string)
	for _, pattern := range []string{"*.md", "doc/*.md", "bench/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %d pages, %v", pattern, len(found), err)
		}
		for _, name := range found {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			texts[filepath.ToSlash(name)] = string(text)
		}
	}
	return texts
}

var (
	fenced  = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	quoted  = regexp.MustCompile("`[^`\n]*`")
	target  = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

// anchors returns the names that the headings of a page can be linked by, as GitHub
// makes them.
func anchors(text string) (names []string) {
	for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		names = append(names, strings.ReplaceAll(dropped.ReplaceAllString(strings.ToLower(h[1]), ""), " ", "-"))
	}
	return names
}

// broken returns the links of a page that lead nowhere within the tree.
func broken(page string, texts map[string]string) (links []string) {
	prose := quoted.ReplaceAllString(fenced.ReplaceAllString(texts[page], ""), "")
	for _, link := range target.FindAllStringSubmatch(prose, -1) {
		file, anchor, _ := strings.Cut(link[1], "#")
		if strings.Contains(file, "://") {
			continue
		}
		to := page
		if file != "" {
			to = path.Join(path.Dir(page), file)
		}
		_, err := os.Stat(filepath.FromSlash(to))
		if err != nil || anchor != "" && !slices.Contains(anchors(texts[to]), anchor) {
			links = append(links, link[1])
		}
	}
	return links
}

func TestLinksOfPages(t *testing.T) {
	texts := pages(t)
	for page := range texts {
		for _, link := range broken(page, texts) {
			t.Errorf("%s: the link to %s leads to no file, or to no heading of it", page, link)
		}
	}
}

func TestBrokenLinksAreFound(t *testing.T) {
	texts := map[string]string{ // of pages that there are
		"doc/guide.md": "# A\n[b](design.md#the-b-with-code) [none](design.md#none) [up](../go.mod) [gone](gone.md)\n" +
			"[a](#a) [x](#x) [far](https://example.com/x#y) `[code](code.md)`\n```\n[fenced](fenced.md)\n```\n",
		"doc/design.md": "## The B, with `code`\n```\n# None\n```\n",
	}
	want := []string{"design.md#none", "gone.md", "#x"}
	if got := broken("doc/guide.md", texts); !slices.Equal(got, want) {
		t.Errorf("broken links %q; want %q", got, want)
	}
}

// Each block of Go in doc is a part of the file that the line above it links to.
// Indentation is not compared; a line of the block that is "// …" stands for any lines of
// the file.
func TestPagesShowTheCode(t *testing.T) {
	link := regexp.MustCompile(`^\[(\S+)\]\(\.\./(\S+)\)$`)
	blocks := 0
	for page, text := range pages(t) {
		if !strings.HasPrefix(page, "doc/") {
			continue
		}
		parts := strings.Split(text, "```go\n")
		for i, part := range parts[1:] {
			blocks++
			block, _, _ := strings.Cut(part, "\n```")
			above := strings.TrimSpace(parts[i])
			named := link.FindStringSubmatch(above[strings.LastIndex(above, "\n")+1:])
			if named == nil || named[2] != named[1] && !strings.HasSuffix(named[2], "/"+named[1]) {
				t.Errorf("%s: above this block there is no [file](../directory/file):\n%s", page, block)
				continue
			}
			file, err := os.ReadFile(filepath.FromSlash(named[2]))
			if err != nil {
				t.Error(err)
				continue
			}
			if missing := lacks(string(file), block); missing != "" {
				t.Errorf("%s shows what is not so in %s:\n%s", page, named[2], missing)
			}
		}
	}
	if blocks < 20 {
		t.Errorf("%d blocks of Go; the test does not find them", blocks)
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
