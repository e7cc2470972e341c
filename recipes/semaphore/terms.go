package semaphore

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/queue"
)

// The kinds of entries.
const (
	request = "p" // for permits
	notice  = "l" // of a changed limit; it wants nothing
)

// terms are what a request says of itself in its value.
type terms struct {
	permits int   // that it wants
	stated  int64 // the limit that its client was given in New
	under   int64 // the limit that it comes in under, as far as its client knows
}

// String is the form in which terms are stored: "3/20@20".
func (t terms) String() string { return fmt.Sprintf("%d/%d@%d", t.permits, t.stated, t.under) }

// termsOf reads the terms of a request. It reports false for what is none, and for
// one that somebody has overwritten.
func termsOf(n driver.Node) (t terms, ok bool) {
	if !contends(n) {
		return terms{}, false
	}
	permits, rest, found := bytes.Cut(queue.Value(n), []byte("/"))
	stated, under, found2 := bytes.Cut(rest, []byte("@"))
	if !found || !found2 {
		return terms{}, false
	}
	var err error
	if t.permits, err = strconv.Atoi(string(permits)); err != nil || t.permits < 0 || t.permits > MaxLimit {
		return terms{}, false
	}
	if t.stated, ok = readLimit(stated); !ok {
		return terms{}, false
	}
	t.under, ok = readLimit(under)
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
	if c.most, ok = readLimit(most); !ok || !found {
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

func readLimit(b []byte) (int64, bool) {
	l, err := strconv.ParseInt(string(b), 10, 64)
	return l, err == nil && 0 < l && l <= MaxLimit
}

// contends reports whether n is somebody who wants permits.
func contends(n driver.Node) bool { return !queue.IsGate(n) && queue.Kind(n) != notice }
