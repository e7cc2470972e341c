package semaphore

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/coordkit/coordkit/coord"
)

// MaxLimit is the highest limit.
const MaxLimit = math.MaxInt32

// ErrLimit is what is returned to a client that was given another limit than the one in
// force. The error is a *LimitError.
var ErrLimit = errors.New("limits differ")

// LimitError says that the semaphore was given another limit in New than the
// one that is in force among those in line. It Is ErrLimit.
//
// The first in line decides. It may be a holder, or a client that was refused itself and
// whose entry is about to be deleted. So while two programs disagree either may get this
// error, also the one that is right, until the entries of the other have gone: the error
// says that two disagree, and not who is wrong.
type LimitError struct {
	Name    string
	Stated  int         // by this client
	InForce int         // as stated by Owner
	Owner   coord.Owner // who that is: the first in line
}

// Error says which limits differ, and the owner that stated the other one.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%v: it was given the limit %d here, and is in use with the limit %d by pid %d on %q",
		ErrLimit, e.Stated, e.InForce, e.Owner.PID, e.Owner.Host)
}

// Unwrap returns ErrLimit.
func (e *LimitError) Unwrap() error { return ErrLimit }

// inRange returns an error that Is coord.ErrInvalid for a number that is no limit.
func inRange(what string, n int) error {
	if n < 1 || n > MaxLimit {
		return fmt.Errorf("%w %s: it is %d; want 1 to %d", coord.ErrInvalid, what, n, MaxLimit)
	}
	return nil
}

// Limit returns the limit in force and how many permits are in use, as of now.
// After the limit was lowered, or a raise has ended, more permits can be in use than
// it allows, until earlier holders release. At the moment of a change, one who was
// just let in may show as waiting, and one about to be refused for stating another
// limit as holding. It joins no line and opens no session. ctx bounds it.
func (s *Semaphore) Limit(ctx context.Context) (limit, used int, err error) {
	if s.err != nil {
		return 0, 0, s.fail("list", s.err)
	}
	line, err := s.queue.Line(ctx)
	if err != nil {
		return 0, 0, err
	}
	in := s.inForce(line)
	limit = int(in.most)
	ahead, held := int64(0), int64(0)
	for i, n := range line {
		if !contends(n) {
			continue
		}
		wants := in.counts(n)
		if ahead+wants <= in.most || letIn(line, i, ahead) {
			held += wants
		}
		ahead += wants
	}
	return limit, int(held), nil
}
