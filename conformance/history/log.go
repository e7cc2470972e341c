package history

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"time"
)

// Violation is a broken promise.
type Violation struct {
	At      time.Duration // since the beginning of the history
	Object  string        // what it is about; empty if it is about no object
	Promise Promise
	Text    string

	step int // in the log
}

// event is a line of the log.
type event struct {
	at     time.Duration
	object string // empty: it concerns all
	who    string // empty: the test
	what   string
}

func (e event) writeTo(w io.Writer) (int, error) {
	who := e.who
	if who == "" {
		who = "***"
	}
	return fmt.Fprintf(w, "%14v  %-8s %s\n", e.at.Round(time.Microsecond), who, e.what)
}

// Note adds what the test did to the log: the faults.
func (h *History) Note(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.add("", "", format, args...)
}

func (h *History) add(object, who, format string, args ...any) {
	h.log = append(h.log, event{time.Since(h.start), object, who, fmt.Sprintf(format, args...)})
}

// Violated adds a violation that the test has found itself. object may be empty.
func (h *History) Violated(p Promise, object, format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.breach(p, object, format, args...)
}

func (h *History) breach(p Promise, object, format string, args ...any) {
	v := h.found(p, object, format, args...)
	h.violations = append(h.violations, v)
	h.add(object, "", "VIOLATION: %s", v.Text)
	if len(h.violations) == 1 {
		close(h.broken)
	}
}

// found is a violation at this moment.
func (h *History) found(p Promise, object, format string, args ...any) Violation {
	return Violation{time.Since(h.start), object, p, fmt.Sprintf(format, args...), len(h.log)}
}

// Broken is closed when there is a violation.
func (h *History) Broken() <-chan struct{} { return h.broken }

// Violations returns the promises that were broken, the first one first.
func (h *History) Violations() []Violation {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.violations)
}

// Excused returns the grants that found an earlier hold's context alive although
// the hold did not count any more: an operator, or the store by itself, had ended
// it, and its holder had not been told yet.
func (h *History) Excused() []Violation {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.excused)
}

// How much of the log goes with a violation, and how far back it is looked for.
const (
	linesBefore = 25
	linesNamed  = 10 // that are earlier, and about a token that the violation names
	reach       = 2000
)

// tokens finds the tokens in a text.
var tokens = regexp.MustCompile(`token [0-9]+`)

// Explain prints a violation and what led to it: the last lines of the log before it that
// are about its object or about all, and earlier ones about the tokens that it names.
func (h *History) Explain(w io.Writer, v Violation) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	named := tokens.FindAllString(v.Text, -1)
	about := func(e event) bool {
		return slices.ContainsFunc(tokens.FindAllString(e.what, -1), func(t string) bool { return slices.Contains(named, t) })
	}
	var last, earlier []event
	for i := v.step - 1; i >= max(0, v.step-reach); i-- {
		switch e := h.log[i]; {
		case e.object != "" && v.Object != "" && e.object != v.Object:
		case len(last) < linesBefore:
			last = append(last, e)
		case len(earlier) < linesNamed && about(e):
			earlier = append(earlier, e)
		}
	}
	if _, err := fmt.Fprintf(w, "%v: %s\n", v.At.Round(time.Microsecond), v.Text); err != nil {
		return err
	}
	for _, e := range slices.Backward(earlier) {
		if _, err := e.writeTo(w); err != nil {
			return err
		}
	}
	if len(earlier) > 0 {
		if _, err := fmt.Fprintf(w, "%14s\n", "…"); err != nil {
			return err
		}
	}
	for _, e := range slices.Backward(last) {
		if _, err := e.writeTo(w); err != nil {
			return err
		}
	}
	return nil
}

// WriteTo prints the log, one line for each event, in the order of time.
func (h *History) WriteTo(w io.Writer) (int64, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var written int64
	for _, e := range h.log {
		n, err := e.writeTo(w)
		written += int64(n)
		if err != nil {
			return written, err
		}
	}
	return written, nil
}
