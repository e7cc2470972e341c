package semaphore

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/queue"
)

// MaxLimit is the highest limit.
const MaxLimit = math.MaxInt32

// ErrLimit is what two who disagree about a semaphore's limit get. The error is a
// *LimitError.
var ErrLimit = errors.New("limits differ")

// LimitError says that the semaphore was given another limit in New than the
// one that is in force among those in line. It Is ErrLimit.
type LimitError struct {
	Name    string
	Stated  int         // by this client
	InForce int         // as stated by Owner, who is first in line
	Owner   coord.Owner // who that is
}

// Error says which limits differ, and who stated the other one.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%v: it was given the limit %d here, and is in use with the limit %d by pid %d on %q",
		ErrLimit, e.Stated, e.InForce, e.Owner.PID, e.Owner.Host)
}

// Unwrap returns ErrLimit.
func (e *LimitError) Unwrap() error { return ErrLimit }

// checkLimit returns an error that Is coord.ErrInvalid for what is no limit.
func checkLimit(n int) error {
	if n < 1 || n > MaxLimit {
		return fmt.Errorf("%w limit %d: want 1 to %d", coord.ErrInvalid, n, MaxLimit)
	}
	return nil
}

// known is the limit of the highest version that this client has seen.
func (s *Semaphore) known() limit {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest
}

func (s *Semaphore) learn(l limit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.version > s.latest.version {
		s.latest = l
	}
}

// Limit returns the limit in force and how many permits are in use, as of now.
// More are in use than the limit allows when it was lowered and those who came
// in before have not released yet; who came in in the very moment of the change
// may show as waiting. It joins no line and opens no session. ctx bounds it.
func (s *Semaphore) Limit(ctx context.Context) (limit, used int, err error) {
	if s.err != nil {
		return 0, 0, s.fail("list", s.err)
	}
	line, err := s.queue.Line(ctx)
	if err != nil {
		return 0, 0, err
	}
	in := s.inForce(line)
	ahead, held := int64(0), int64(0)
	for i, n := range line {
		if !contends(n) {
			continue
		}
		wants := in.wants(n)
		if ahead+wants <= in.most || in.letIn(line, i, ahead) {
			held += wants
		}
		ahead += wants
	}
	return int(in.most), int(held), nil
}

// SetLimit changes the limit for everybody, whatever they were given in New, and
// returns when the change is in the store. It applies to whoever looks at the
// line after it. Raising the limit lets those in who fit now. Lowering it takes
// nothing from those who hold: nobody comes in until they fit into the new limit
// together with what is still held. Who waits for more than the new limit fails
// with an error that Is coord.ErrInvalid, at the latest when it is its turn. Of
// two changes at a time the one that the store saw last stays.
//
// A store of sessions remembers nothing for ever. The change lasts as long as the
// session it was made on (the client's, or that of coord.WithSession), and
// beyond that as long as somebody who has seen it is in line, or comes back
// to it with the same Semaphore value. To make it permanent, make it from a
// process that stays, until all others are configured with the new limit.
//
// ctx bounds it. After an error the limit may have been changed for somebody;
// calling SetLimit again is safe.
func (s *Semaphore) SetLimit(ctx context.Context, n int) error {
	err := s.err
	if err == nil {
		err = checkLimit(n)
	}
	if err != nil {
		return s.fail("set the limit of", err)
	}
	e, err := s.queue.Acquire(ctx, queue.Request{Kind: notice, Value: []byte(terms{limit: limit{most: int64(n)}}.String())})
	if err != nil {
		return err
	}
	s.learn(limit{int64(n), e.Node().Token})
	if old := s.noticesOn(e.Session()).replace(e); old != nil {
		_ = old.Leave(ctx) // it says nothing any more; if need be it goes in the background
	}
	return nil
}

// notices holds the one notice that a session keeps in a line.
type notices struct {
	mu     sync.Mutex
	latest *queue.Entry
}

// noticesKey finds them by the name of the semaphore.
type noticesKey string

func (s *Semaphore) noticesOn(session *coord.Session) *notices {
	return session.Local(noticesKey(s.name), func() any { return &notices{} }).(*notices)
}

// replace keeps the later notice and returns the other one.
func (n *notices) replace(e *queue.Entry) *queue.Entry {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.latest != nil && n.latest.Node().Token > e.Node().Token {
		return e
	}
	old := n.latest
	n.latest = e
	return old
}
