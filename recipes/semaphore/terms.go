package semaphore

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
)

// The kinds of entries.
const (
	request = "p" // for permits
	notice  = "l" // of a changed limit; it wants nothing
)

// terms are what a request says of itself in its value. What the rule needs of
// them is in the name too, so that lists of names will do: see named.
type terms struct {
	permits int   // that it wants
	stated  int64 // the limit that its client was given in New
	under   int64 // the limit that it comes in under, as far as its client knows
}

// String is the form in which terms are stored: "3/20@20".
func (t terms) String() string { return fmt.Sprintf("%d/%d@%d", t.permits, t.stated, t.under) }

// mostNamed is how many permits are part of a name. Stores remember the names of
// what was deleted, so who wants ever other numbers must not have as many names.
const mostNamed = 99

// named is what the rule needs of the terms, as part of the name of the entry:
// "3x20x", or "" if they are not.
func (t terms) named() string {
	if t.permits > mostNamed {
		return ""
	}
	return fmt.Sprintf("%dx%dx", t.permits, t.stated)
}

// termsOf reads the terms of a request, as far as the rule needs them: by its name,
// which nobody can overwrite, or if they are not there by its value. It reports
// false for what is none, and for a value that somebody has overwritten.
func termsOf(n driver.Node) (t terms, ok bool) {
	if !contends(n) {
		return terms{}, false
	}
	if t, ok = namedTerms(n); ok {
		return t, true
	}
	return writtenTerms(n)
}

// namedTerms reads the terms that are in the name of a request.
func namedTerms(n driver.Node) (t terms, ok bool) {
	if queue.Kind(n) != request {
		return terms{}, false
	}
	permits, rest, _ := strings.Cut(queue.Terms(n), "x")
	stated, end, found := strings.Cut(rest, "x")
	if !found || end != "" {
		return terms{}, false
	}
	most, ok := readLimit(permits)
	if t.stated, found = readLimit(stated); !ok || !found {
		return terms{}, false
	}
	t.permits = int(most)
	return t, true
}

// namesSuffice reports whether the rule needs nothing but the names of a line: they
// hold the terms of all, there is no notice, and nobody disagrees, which takes the
// owner of an entry to report.
func namesSuffice(line []driver.Node) bool {
	stated := int64(0)
	for _, n := range line {
		if queue.IsGate(n) {
			continue
		}
		t, ok := namedTerms(n)
		if !ok || stated > 0 && t.stated != stated {
			return false
		}
		stated = t.stated
	}
	return true
}

// cameUnder is the limit that a request came in under, as far as it says, for those
// who look at all of the line.
func cameUnder(n driver.Node, t terms) int64 {
	if written, ok := writtenTerms(n); ok {
		return written.under
	}
	return t.stated
}

// writtenTerms reads the terms that are in the value of a request.
func writtenTerms(n driver.Node) (t terms, ok bool) {
	permits, rest, found := bytes.Cut(queue.Value(n), []byte("/"))
	stated, under, found2 := bytes.Cut(rest, []byte("@"))
	if !found || !found2 {
		return terms{}, false
	}
	var err error
	if t.permits, err = strconv.Atoi(string(permits)); err != nil || t.permits < 0 || t.permits > MaxLimit {
		return terms{}, false
	}
	if t.stated, ok = readLimit(string(stated)); !ok {
		return terms{}, false
	}
	t.under, ok = readLimit(string(under))
	return t, ok
}

// change is a limit that somebody has set, and when: its version is the token of
// the notice that told of it first. Tokens rise, so of two changes the later one
// has the higher version. Version 0 is no change.
type change struct {
	most    int64
	version uint64
	stands  bool // it was not given up while it was made
}

// String is the form in which a change is stored in a notice: "6@0" when it is
// made, and "6@4711", with its version, as soon as that is known and it stands.
func (c change) String() string { return fmt.Sprintf("%d@%d", c.most, c.version) }

// changeOf reads a notice. It reports false for what is none.
func changeOf(n driver.Node) (c change, ok bool) {
	if queue.Kind(n) != notice {
		return change{}, false
	}
	most, version, found := bytes.Cut(queue.Value(n), []byte("@"))
	if c.most, ok = readLimit(string(most)); !ok || !found {
		return change{}, false
	}
	v, err := strconv.ParseUint(string(version), 10, 64)
	if err != nil {
		return change{}, false
	}
	if c.stands = 0 < v && v <= n.Token; c.stands {
		c.version = v
	} else {
		c.version = n.Token
	}
	return c, true
}

func readLimit(s string) (int64, bool) {
	l, err := strconv.ParseInt(s, 10, 64)
	return l, err == nil && 0 < l && l <= MaxLimit
}

// contends reports whether n is somebody who wants permits.
func contends(n driver.Node) bool { return !queue.IsGate(n) && queue.Kind(n) != notice }
