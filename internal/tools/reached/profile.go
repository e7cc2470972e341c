package main

import (
	"bufio"
	"fmt"
	"os"
	"path"
	"strings"
)

// block is a part of a file that runs as one.
type block struct {
	fromLine, fromCol, toLine, toCol int
	ran                              bool
}

// profile is what a coverage file says, by the base name of the file: a package has
// each once.
type profile map[string][]block

// readProfile reads a coverage file of one package.
func readProfile(name string) (profile, error) {
	p := make(profile)
	err := eachLine(name, func(line string) error {
		if strings.HasPrefix(line, "mode:") {
			return nil
		}
		file, rest, _ := strings.Cut(line, ".go:")
		var b block
		var statements, count int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.fromLine, &b.fromCol, &b.toLine, &b.toCol, &statements, &count); err != nil {
			return fmt.Errorf("%s: %q: %w", name, line, err)
		}
		b.ran = count > 0
		file = path.Base(file) + ".go"
		p[file] = append(p[file], b)
		return nil
	})
	return p, err
}

// ran reports whether the innermost block that holds the place has run, in any of
// the test programs that wrote the profile.
func (p profile) ran(at place) (ran bool) {
	var inner block
	for _, b := range p[at.file] {
		holds := before(b.fromLine, b.fromCol, at.line, at.col) && before(at.line, at.col, b.toLine, b.toCol)
		switch {
		case !holds:
		case inner.toLine == 0 || before(inner.fromLine, inner.fromCol, b.fromLine, b.fromCol):
			same := inner.fromLine == b.fromLine && inner.fromCol == b.fromCol
			inner, ran = b, b.ran || same && ran
		}
	}
	return ran
}

// before reports whether a place is not behind another.
func before(line, col, otherLine, otherCol int) bool {
	return line < otherLine || line == otherLine && col <= otherCol
}

// readExceptions reads the places that need not be reached, each followed by " # "
// and the reason.
func readExceptions(name string) (map[string]string, error) {
	excused := make(map[string]string)
	if name == "" {
		return excused, nil
	}
	return excused, eachLine(name, func(line string) error {
		if line == "" || strings.HasPrefix(line, "#") {
			return nil
		}
		place, why, found := strings.Cut(line, " # ")
		if !found || why == "" {
			return fmt.Errorf("%s: %q gives no reason", name, line)
		}
		excused[strings.TrimSpace(place)] = why
		return nil
	})
}

func eachLine(name string, do func(string) error) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if err := do(strings.TrimSpace(lines.Text())); err != nil {
			return err
		}
	}
	return lines.Err()
}
