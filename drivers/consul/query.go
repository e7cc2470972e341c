package consul

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hashicorp/consul/api"
	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord/driver"
)

// longestPause is the longest between two attempts of a query.
const longestPause = time.Second

// query is a question that waits at the store until there is news, again and
// again.
type query struct {
	*watches
	key        string
	index      uint64 // the news wanted is after it; 0: answer at once
	consistent bool   // answer at once and with certainty
	pause      time.Duration
	moved      time.Time // when it was last taken from one agent to another

	// linearizable: every answer is certain, also one that was waited for.
	linearizable bool
}

// asked is the body of a query: a request to one agent.
type asked func(a *agent, q *api.QueryOptions) (*api.QueryMeta, error)

var errLate = errors.New("a query was not answered in its time")

// once asks once. It returns false if there is no answer to be had now and the
// query is to be asked again, and an error if it never will.
func (q *query) once(ask asked) (found answer, ok bool, err error) {
	opts := &api.QueryOptions{WaitIndex: q.index, WaitTime: q.timing.wait, RequireConsistent: q.linearizable}
	if q.consistent {
		opts = &api.QueryOptions{RequireConsistent: true}
	}
	q.mu.Lock()
	q.clock++
	found = answer{asked: q.clock, consistent: q.consistent}
	q.mu.Unlock()

	// The store adds up to a sixteenth, so that queries do not end together.
	var late atomic.Bool
	ctx, cancel := context.WithCancel(q.ctx)
	defer cancel()
	limit := q.conn.limits.Begin(q.timing.wait+q.timing.wait/16+q.timing.grace, func() {
		late.Store(true)
		cancel()
	})
	defer limit.End()
	a := q.conn.agents.current()
	// An agent that is given up may still hold the connection for as long as
	// the query waits. So where agents are given up one after the other, as
	// while there is no leader, queries do not go with all of it.
	if time.Since(q.moved) > q.timing.wait {
		stop := context.AfterFunc(a.ctx, cancel)
		defer stop()
	}
	meta, err := ask(a, opts.WithContext(ctx))
	if err != nil && late.Load() {
		err = errLate
	}
	if err = answered(meta, err); err == nil {
		q.pause = 0
		found.at = meta.LastIndex
		return found, true, nil
	}
	kind := kindOf(err, true, false)
	switch {
	case q.ctx.Err() != nil:
		return found, false, failed(op{name: "watch", key: q.key}, driver.ErrClosed, nil)
	case kind != driver.ErrUnavailable:
		return found, false, failed(op{name: "watch", key: q.key}, kind, cause(err))
	case errors.Is(err, context.Canceled): // the next agent is asked at once
		q.moved = time.Now()
		return found, false, nil
	case isFull(err):
		q.yield()
	}
	q.conn.agents.giveUp(a)
	q.pause = min(max(pause, 2*q.pause), longestPause)
	q.conn.log.Debug("asking again what is waited for", zap.String("key", q.key), zap.Error(cause(err)), zap.Duration("pause", q.pause))
	q.sleep(q.pause)
	return found, false, nil
}

// sleep waits for d, or for the connection to be closed.
func (h *watches) sleep(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-h.ctx.Done(): // the next request finds out
	}
}

// watchSpot is an eye: it watches a spot for as long as it is wanted.
func (h *watches) watchSpot(l *line, s *spot) {
	q := &query{watches: h, key: s.key}
	h.mu.Lock()
	q.index = s.version
	h.mu.Unlock()
	for {
		var kv *api.KVPair
		found, ok, err := q.once(func(a *agent, o *api.QueryOptions) (meta *api.QueryMeta, err error) {
			kv, meta, err = a.keys.Get(s.key, o)
			return meta, err
		})
		h.mu.Lock()
		switch {
		case err != nil:
			s.fail(err)
		case ok:
			q.consistent = s.see(kv, found)
			q.index = s.version
		}
		if wanted, _ := s.wanted(); err != nil || !wanted || h.eyes > h.most {
			h.closeEye(l, s)
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
	}
}

// shortLine is how many keys a directory may have for it to be watched as a
// whole for the sake of one wait: each that is added is news.
const shortLine = 8

// watchPair watches a directory for whoever is second in line. By one answer it
// knows of both nodes, its own and the one ahead, which eyes do not.
func (h *watches) watchPair(l *line, w *wait) {
	q := &query{watches: h, key: l.prefix, index: w.pair}
	for {
		var kvs api.KVPairs
		found, ok, err := q.once(func(a *agent, o *api.QueryOptions) (meta *api.QueryMeta, err error) {
			kvs, meta, err = listAll(a, l.prefix, o)
			return meta, err
		})
		h.mu.Lock()
		switch {
		case err != nil:
			w.tell(outcome{err: err})
		case ok:
			q.consistent = l.seeAll(byKey(kvs), found)
			q.index = found.at
		}
		if _, waiting := l.waits[w]; !waiting || w.told || len(kvs) > shortLine || h.eyes > h.most {
			w.allDue() // if it still waits, it does like others
			h.free(l)
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
	}
}

func byKey(kvs api.KVPairs) map[string]*api.KVPair {
	found := make(map[string]*api.KVPair, len(kvs))
	for _, kv := range kvs {
		kv.Value = nil // of no interest
		found[kv.Key] = kv
	}
	return found
}

// broad is a query for all keys that begin with a prefix, of one directory or
// of the namespace.
type broad struct {
	*watches
	prefix string
	last   answer
	seen   map[string]*api.KVPair // what the last answer held, without the data; nil: none yet
}

// remind tells a wait what the last answer said: the next one comes only when
// there is news.
func (b *broad) remind(w *wait) {
	if b.seen != nil {
		w.see(b.seen, b.last) // in doubt it is the next answer that counts
	}
}

// watch watches for as long as there are nodes that no eye sees.
func (b *broad) watch() {
	q := &query{watches: b.watches, key: b.prefix}
	for {
		var kvs api.KVPairs
		found, ok, err := q.once(func(a *agent, o *api.QueryOptions) (meta *api.QueryMeta, err error) {
			kvs, meta, err = listAll(a, b.prefix, o)
			return meta, err
		})
		b.mu.Lock()
		switch {
		case err != nil:
			b.fail(err)
		case ok:
			q.consistent = b.take(kvs, found)
			q.index = found.at
		}
		if err != nil || !b.needed() {
			delete(b.watches.broad, b.prefix)
			if errors.Is(err, driver.ErrDenied) {
				b.conn.log.Warn("not allowed to watch", zap.String("prefix", b.prefix))
			}
			b.mu.Unlock()
			return
		}
		rest := min(time.Duration(len(kvs))*b.rest(), longestPause)
		b.mu.Unlock()
		b.sleep(rest)
	}
}

// take takes an answer. The caller holds the lock, as for all that follows.
func (b *broad) take(kvs api.KVPairs, found answer) (doubt bool) {
	b.last, b.seen = found, byKey(kvs)
	for _, l := range b.lines {
		if strings.HasPrefix(l.prefix, b.prefix) {
			doubt = l.seeAll(b.seen, found) || doubt
		}
	}
	return doubt
}

// needed reports whether the query sees what nothing else does.
func (b *broad) needed() bool {
	for _, l := range b.lines {
		if b.covers(l) && l.blind() {
			return true
		}
	}
	return false
}

// rest returns how long to rest for each key of an answer.
func (b *broad) rest() time.Duration {
	for _, l := range b.lines {
		if b.covers(l) && l.hasty() {
			return b.timing.rest
		}
	}
	return b.timing.nap
}

// covers reports whether a line relies on the query.
func (b *broad) covers(l *line) bool {
	over := b.over(l)
	return len(over) > 0 && over[0] == b
}

// fail ends the waits that nothing else sees.
func (b *broad) fail(err error) {
	for _, l := range b.lines {
		if strings.HasPrefix(l.prefix, b.prefix) {
			l.fail(err)
		}
	}
}
