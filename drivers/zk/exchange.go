package zk

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
)

// exchange makes one attempt of a request without the library, and returns the
// answer. It is for the requests of which a lock is made. The library hands each through four goroutines and makes
// and reads messages by reflection; whoever waits in a line waits for that too,
// between another's release and his own grant.
//
// It is bounded, and its errors are, as call says.
func (l *link) exchange(ctx context.Context, o op, request []byte) (answer, error) {
	answers, on, err := l.exchangeAll(ctx, o, request)
	if err == nil {
		err = l.judge(ctx, o, on, answers[0])
	}
	if err != nil {
		return answer{}, err
	}
	return answers[0], nil
}

// judge returns the error that an answer means.
func (l *link) judge(ctx context.Context, o op, on *wire, a answer) error {
	err := errorOf(a.code)
	if a.lost {
		err = gozk.ErrConnectionClosed
	}
	if err == nil {
		return nil
	}
	return l.turnedDown(ctx, o, on, err)
}

// turnedDown is refused for a request without the library. It waits no longer
// for the next connection than a request may take.
func (l *link) turnedDown(ctx context.Context, o op, on *wire, err error) error {
	attempt, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	return l.refused(ctx, attempt, o, on, err)
}

// exchangeAll is exchange for requests that are sent together and answered one
// after the other. It returns the answers as they are.
func (l *link) exchangeAll(ctx context.Context, o op, requests ...[]byte) (answers []answer, on *wire, _ error) {
	began := time.Now()
	if ctx.Err() != nil {
		if why := l.ended(); why != nil {
			return nil, nil, why
		}
		return nil, nil, unsent(o, ctx)
	}
	x, err := l.send(requests)
	if err == errNoConnection {
		attempt, cancel := context.WithDeadline(ctx, began.Add(o.limit))
		defer cancel()
		for err == errNoConnection {
			if l.await(attempt, l.over, func() bool { return l.up }) != nil {
				return nil, nil, l.unreached(ctx, o)
			}
			x, err = l.send(requests)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	defer x.wire.asks.end(x.first, len(requests))
	wake := time.NewTimer(min(l.timing.nudge, time.Until(began.Add(o.limit))))
	defer wake.Stop()
	for len(answers) < len(requests) {
		// As in call.
		select {
		case a := <-x.answers:
			answers = append(answers, a)
		case <-l.over:
			return nil, nil, l.ended()
		case <-ctx.Done():
			return nil, nil, x.givenUp(ctx, l, o)
		case <-wake.C:
			rest := time.Until(began.Add(o.limit))
			if silent := l.timing.silent - time.Since(x.sent); silent > 0 {
				l.nudge(x.wire)
				rest = min(rest, silent)
			} else if x.wire.silentSince(x.sent) {
				x.wire.drop("it is silent")
			}
			if rest <= 0 {
				return nil, nil, x.givenUp(ctx, l, o)
			}
			wake.Reset(rest)
		}
	}
	return answers, x.wire, nil
}

// exchanging is requests that were sent, or are about to be.
type exchanging struct {
	wire    *wire
	first   int32 // xid
	answers <-chan answer
	sent    time.Time
	taken   atomic.Bool // by whoever comes first: the wire, or the caller who gives them up
}

// givenUp is the error of a caller whose time is over.
func (x *exchanging) givenUp(ctx context.Context, l *link, o op) error {
	if x.taken.CompareAndSwap(false, true) { // and never will be sent
		return l.unreached(ctx, o)
	}
	return givenUp(ctx, o)
}

// errNoConnection: there is no connection that has the session.
var errNoConnection = fmt.Errorf("no connection")

// send sends requests, one right behind the other. What cannot be sent at once is
// left to a goroutine that the link owns: it may have to wait for its turn, and for
// the network.
func (l *link) send(requests [][]byte) (*exchanging, error) {
	x, err := l.prepare(len(requests))
	if err != nil {
		return nil, err
	}
	var messages []byte
	for i, r := range requests {
		messages = append(messages, r...)
		setXid(messages[len(messages)-len(r):], x.first-int32(i))
	}
	if x.wire.mu.TryLock() {
		x.taken.Store(true)
		if rest := x.wire.begin(messages); len(rest) > 0 {
			go l.finish(x.wire, rest)
		} else {
			l.finish(x.wire, nil)
		}
		return x, nil
	}
	go func() {
		x.wire.mu.Lock()
		if !x.taken.CompareAndSwap(false, true) {
			messages = nil // they were given up
		}
		l.finish(x.wire, messages)
	}()
	return x, nil
}

// finish writes what is left of messages, for a caller that has the turn, and
// passes it on.
func (l *link) finish(w *wire, rest []byte) {
	defer l.calls.Done()
	defer w.mu.Unlock()
	if len(rest) == 0 {
		return
	}
	if _, err := w.Conn.Write(rest); err != nil {
		w.drop("it takes no message")
	}
}

// prepare returns n requests that are about to be sent, which the link waits for.
func (l *link) prepare(n int) (*exchanging, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.why != nil:
		return nil, l.why
	case !l.up:
		return nil, errNoConnection
	}
	l.calls.Add(1)
	x := &exchanging{wire: l.wire, sent: time.Now()}
	x.first, x.answers = x.wire.asks.begin(n)
	return x, nil
}

// givenUp is the error of a request that may have been sent and was not answered
// in time.
func givenUp(ctx context.Context, o op) error {
	var kind error // of a read, the store was there; the caller did not wait for it
	if o.write {
		kind = driver.ErrUncertain
	}
	if ctx.Err() != nil {
		return failed(o, kind, driver.ContextError(ctx))
	}
	if kind == nil {
		kind = driver.ErrUnavailable
	}
	return failed(o, kind, fmt.Errorf("no answer within %v", o.limit))
}

// answer is what a request got.
type answer struct {
	lost bool // with the connection
	code int32
	zxid uint64 // what the server had seen
	body []byte
}
