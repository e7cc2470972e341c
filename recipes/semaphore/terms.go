package semaphore

import (
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

// mostNamed is how many permits are part of a name. Stores remember the names of what
// was deleted, so a client that wants ever other numbers must not use as many names.
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
	if t, ok = namedTerms(n); ok {
		return t, true
	}
	return writtenTerms(n)
}

// namedTerms reads the terms that are in the name of a request.
func namedTerms(n driver.Node) (t terms, ok bool) {
	permits, stated, _ := strings.Cut(strings.TrimSuffix(queue.Terms(n), "x"), "x")
	return readTerms(permits, stated, stated)
}

// writtenTerms reads the terms that are in the value of a request.
func writtenTerms(n driver.Node) (t terms, ok bool) {
	permits, limits, _ := strings.Cut(string(queue.Value(n)), "/")
	stated, under, _ := strings.Cut(limits, "@")
	return readTerms(permits, stated, under)
}

func readTerms(permits, stated, under string) (t terms, ok bool) {
	t = terms{int(readLimit(permits)), readLimit(stated), readLimit(under)}
	if min(int64(t.permits), t.stated, t.under) < 1 {
		return terms{}, false
	}
	return t, true
}

// readLimit reads a number, and returns 0 for what is none up to MaxLimit.
func readLimit(s string) int64 {
	l, err := strconv.ParseInt(s, 10, 32)
	if err != nil {
		return 0
	}
	return l
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

// changeOf reads a notice. What is none, or cannot be read, is no change.
func changeOf(n driver.Node) (c change) {
	if queue.Kind(n) != notice {
		return change{}
	}
	most, version, _ := strings.Cut(string(queue.Value(n)), "@")
	if c.most = readLimit(most); c.most < 1 {
		return change{}
	}
	c.version, _ = strconv.ParseUint(version, 10, 64)
	if c.stands = 0 < c.version && c.version <= n.Token; !c.stands {
		c.version = n.Token
	}
	return c
}

// contends reports whether n is somebody who wants permits.
func contends(n driver.Node) bool { return !queue.IsGate(n) && queue.Kind(n) != notice }
