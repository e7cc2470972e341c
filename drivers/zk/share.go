package zk

import (
	"context"
	"errors"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/internal/batch"
)

// How changes share transactions. Up to so many requests are worth having under way
// at a time: what comes then waits for one of them to be answered, or for as long
// as a store takes that is slow. A server takes messages of up to 1 MiB
// (jute.maxbuffer).
const (
	sharingFrom     = 12
	mostSharing     = 32
	mostSharedBytes = 256 << 10
	sharingPatience = 100 * time.Millisecond
)

// member is a change that may be made together with others. What it refers to stays
// as it is: its caller may have gone when it is sent.
type member struct {
	parts []any  // of a transaction
	size  int    // of what it writes, in bytes
	adds  int    // how many results it adds to the transaction's
	grows string // the directory in which it makes a node; none if empty
	lists bool   // that directory is listed right after it

	done    chan struct{} // closed when the following is set
	effect  effect
	refused bool // all that shared: nothing was done, and each is to ask for itself
}

// effect is what came of a change.
type effect struct {
	results []gozk.MultiResponse
	denied  bool   // the store has refused it, as the results and err say
	at      uint64 // a zxid at which it was done
	names   answer // to the request for the list
	err     error
}

func newSharing(l *link) *batch.Group[*member] {
	return &batch.Group[*member]{
		Limit: sharingFrom, Most: mostSharing, Patience: sharingPatience,
		Fits: fits, Send: l.share,
	}
}

// fits reports whether a member can share with others. What is made in one
// transaction has one zxid, and numbers rely on it that each node of a directory
// has one of its own.
func fits(others []*member, m *member) bool {
	size := m.size
	for _, other := range others {
		if m.grows != "" && m.grows == other.grows {
			return false
		}
		size += other.size
	}
	return size <= mostSharedBytes
}

// together makes a change by alone if there is not much going on, or together with what
// else is to be changed at this time. Its errors are as those of exchange; that a
// store refuses the change, and why, is told by alone only.
func (l *link) together(ctx context.Context, o op, m *member, alone func() effect) (it effect) {
	single := false
	now := func() { it, single = alone(), true }
	if l.sharing.Alone(now) {
		return it
	}
	m.done = make(chan struct{})
	sent := l.queueUp(ctx, o, m, now)
	switch {
	case single:
		return it
	case !sent:
		return effect{err: l.unreached(ctx, o)}
	}
	// As in call.
	select {
	case <-m.done: // within the limit of an attempt
	case <-l.over:
		return effect{err: l.ended()}
	case <-ctx.Done():
		return effect{err: givenUp(ctx, o)}
	}
	if m.refused {
		return alone()
	}
	m.effect.err = renamed(o, m.effect.err)
	return m.effect
}

// queueUp has a member sent with others, or alone.
func (l *link) queueUp(ctx context.Context, o op, m *member, alone func()) (sent bool) {
	waiting, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	stop := context.AfterFunc(l.ctx, cancel)
	defer stop()
	return l.sharing.Do(waiting, m, alone)
}

// renamed makes the error of one operation out of that of the shared one.
func renamed(o op, err error) error {
	var of *driver.Error
	if !errors.As(err, &of) || of.Kind != driver.ErrUncertain && of.Kind != driver.ErrUnavailable {
		return err
	}
	return failed(o, of.Kind, of.Err)
}

// share makes one transaction of several, and asks for the lists right behind it.
// If the store refuses it, because of one or for all of them, then nothing was done
// and each finds out by itself.
func (l *link) share(members []*member) {
	var parts []any
	adds := 0
	requests := make([][]byte, 1, 1+len(members))
	for _, m := range members {
		parts, adds = append(parts, m.parts...), adds+m.adds
		if m.lists {
			requests = append(requests, request(opGetChildren2, m.grows, false))
		}
	}
	requests[0] = transaction(parts)
	// No caller's ctx: each has one of its own.
	ctx, o := context.Background(), op{name: "change", key: l.id(), write: true, limit: l.timing.attempt}
	answers, on, err := l.exchangeAll(ctx, o, requests...)
	var results []gozk.MultiResponse
	var at uint64
	refused := false
	if err == nil {
		at = answers[0].zxid
		results, err = readResults(answers[0], adds)
		if refused = isRefusal(err); !refused && err != nil {
			err = l.turnedDown(ctx, o, on, err)
		}
		answers = answers[1:]
	}
	for _, m := range members {
		switch {
		case refused:
			m.refused = true
		case err != nil:
			m.effect.err = err
		default:
			m.effect.at = at
			m.effect.results, results = results[:m.adds], results[m.adds:]
			if m.lists {
				m.effect.names, answers = answers[0], answers[1:]
			}
		}
		close(m.done)
	}
}

// transaction is a request for what the parts describe.
func transaction(parts []any) []byte {
	return request(opMulti, append(parts[:len(parts):len(parts)], -1, true, -1)...)
}
