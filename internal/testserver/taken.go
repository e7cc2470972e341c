package testserver

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// takenFile is a file that tells, next to what was taken from packages, which
// these were: a name and a version a line.
const takenFile = "packages"

// takenPackage is one of them.
type takenPackage struct{ name, version string }

type taken []takenPackage

func (all taken) write(dir string) error {
	var text bytes.Buffer
	for _, p := range all {
		fmt.Fprintln(&text, p.name, p.version)
	}
	return os.WriteFile(filepath.Join(dir, takenFile), text.Bytes(), 0o644)
}

func readTaken(dir string) (all taken, err error) {
	text, err := os.ReadFile(filepath.Join(dir, takenFile))
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		name, version, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found {
			return nil, fmt.Errorf("%s: %q is no name with a version", filepath.Join(dir, takenFile), line)
		}
		all = append(all, takenPackage{name, version})
	}
	return all, nil
}

// version returns that of a package, or "" if it was not taken.
func (all taken) version(name string) string {
	for _, p := range all {
		if p.name == name {
			return p.version
		}
	}
	return ""
}

// instead says what was taken instead of what is recorded.
func (all taken) instead(recorded []debPackage) (differences []string) {
	for _, p := range recorded {
		switch version := all.version(p.name); version {
		case p.version:
		case "":
			differences = append(differences, fmt.Sprintf("no %s, recorded is %s", p.name, p.version))
		default:
			differences = append(differences, fmt.Sprintf("%s %s, recorded is %s", p.name, version, p.version))
		}
	}
	return differences
}
