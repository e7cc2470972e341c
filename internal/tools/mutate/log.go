package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync"
)

// log is a file of what became of mutants, one a line: the kind, the variant, the name
// and the detail. The zero log has no file. Its methods are safe for concurrent use.
type log struct {
	mu   sync.Mutex
	file *os.File
	was  map[string]outcome // by the mutant's name; the last counts
}

// openLog reads a log, and appends to it from now on.
func openLog(path string) (*log, error) {
	l := &log{was: make(map[string]outcome)}
	if path == "" {
		return l, nil
	}
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 4)
		n, err := strconv.Atoi(f[0])
		if err != nil || len(f) < 4 {
			return nil, fmt.Errorf("%s: %q is no line of a log", path, line)
		}
		l.was[f[2]] = outcome{kind(n), f[1], f[3]}
	}
	l.file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return l, err
}

// killed returns the outcome of a mutant that was killed according to the log.
func (l *log) killed(m *mutant) (outcome, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := l.was[m.name()]
	if !o.kind.killed() {
		return outcome{}, false
	}
	return o, true
}

// add notes what has become of a mutant. What cannot be written is run again another time.
func (l *log) add(m *mutant) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil {
		_, _ = fmt.Fprintf(l.file, "%d\t%s\t%s\t%s\n", m.outcome.kind, m.outcome.variant, m.name(), m.outcome.detail)
	}
}

func (l *log) close() {
	if l.file != nil {
		_ = l.file.Close() // as in add
	}
}
