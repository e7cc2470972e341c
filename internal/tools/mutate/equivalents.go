package main

import (
	"fmt"
	"os"
	"strings"
)

// equivalents are the mutants that behave like the original, or differ in what nobody was
// promised, by the name of the mutant.
type equivalents struct {
	reason map[string]string
	met    map[string]bool // those that were among the mutants of this run
}

// readEquivalents reads a file of blocks, which blank lines divide. A block begins with
// lines of the reason, each behind "# ". The names of the mutants follow, one a line. A
// block of a reason alone is a comment. Without a path there are none.
func readEquivalents(path string) (*equivalents, error) {
	known := &equivalents{reason: make(map[string]string), met: make(map[string]bool)}
	if path == "" {
		return known, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for block := range strings.SplitSeq(string(text), "\n\n") {
		var reason []string
		for line := range strings.Lines(block) {
			line = strings.TrimSpace(line)
			if comment, ok := strings.CutPrefix(line, "# "); ok {
				reason = append(reason, comment)
				continue
			}
			if line == "" {
				continue
			}
			if len(reason) == 0 {
				return nil, fmt.Errorf("%s: no reason is given for %s", path, line)
			}
			if known.reason[line] != "" {
				return nil, fmt.Errorf("%s: %s is listed twice", path, line)
			}
			known.reason[line] = strings.Join(reason, " ")
		}
	}
	return known, nil
}
