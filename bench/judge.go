package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/coordkit/coordkit/bench/report"
	"github.com/coordkit/coordkit/bench/targets"
)

// judgeAnew judges results that were written to a directory by the present targets,
// and changes nothing else of their page.
func judgeAnew(dir string) error {
	page := filepath.Join(dir, "README.md")
	text, err := judged(dir)
	if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(text), 0o644)
}

// judged is the page of a directory, with the verdicts by the present targets.
func judged(dir string) (string, error) {
	file := filepath.Join(dir, "results.json")
	data, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var run report.Run
	if err := json.Unmarshal(data, &run); err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	page := filepath.Join(dir, "README.md")
	text, err := os.ReadFile(page)
	if err != nil {
		return "", err
	}
	before, _, found := strings.Cut(string(text), targets.Heading)
	if !found {
		return "", fmt.Errorf("%s: want the heading %q, and verdicts below it", page, strings.TrimSpace(targets.Heading))
	}
	return before + string(targets.Markdown(targets.Judge(&run))), nil
}

// judgeMicro writes the verdicts on what microbenchmarks have written to a file.
func judgeMicro(w io.Writer, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	m, err := targets.ReadMicro(f)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	_, err = w.Write(targets.Markdown(m.Judge()))
	return err
}
