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
	notice  = "l" // of a new limit; it wants nothing
)

// limit is what a client takes for the limit, and since when: version is 0 for
// what it was configured with, and otherwise the token of the notice that
// changed it. So a later change has the higher version.
type limit struct {
	most    int64 // permits held at a time
	version uint64
}

// terms are what an entry says of itself in its value.
type terms struct {
	permits int   // that it wants
	limit   limit // that its client knew when it came
}

// String is the form in which terms are stored: "3/20@0".
func (t terms) String() string {
	return fmt.Sprintf("%d/%d@%d", t.permits, t.limit.most, t.limit.version)
}

// termsOf reads the terms of an entry. It reports false for what is no terms.
func termsOf(n driver.Node) (t terms, ok bool) {
	permits, rest, ok1 := bytes.Cut(queue.Value(n), []byte("/"))
	most, version, ok2 := bytes.Cut(rest, []byte("@"))
	var err1, err2, err3 error
	t.permits, err1 = strconv.Atoi(string(permits))
	t.limit.most, err2 = strconv.ParseInt(string(most), 10, 64)
	t.limit.version, err3 = strconv.ParseUint(string(version), 10, 64)
	ok = ok1 && ok2 && err1 == nil && err2 == nil && err3 == nil &&
		0 <= t.permits && t.permits <= MaxLimit && 0 < t.limit.most && t.limit.most <= MaxLimit
	if !ok {
		return terms{}, false
	}
	if queue.Kind(n) == notice {
		t.limit.version = n.Token
	}
	return t, true
}

// contends reports whether n is somebody who wants permits.
func contends(n driver.Node) bool { return !queue.IsGate(n) && queue.Kind(n) != notice }
