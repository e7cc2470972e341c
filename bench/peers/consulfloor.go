package peers

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/bench/contest"
)

// consulSlots tells the entries of contenders of one session apart.
var consulSlots atomic.Int64

func openConsulFloor(_ context.Context, d contest.Dial) (contest.Program, error) {
	p, err := newConsulProgram(d, true, nil)
	if err != nil {
		return nil, err
	}
	session, err := p.session("")
	if err != nil {
		return nil, err
	}
	p.lock = func(p *consulProgram, key string) (contest.Locker, error) {
		return &consulFloor{client: p.client, session: session, line: key + "/",
			own: fmt.Sprintf("%s/%s-%x", key, session, consulSlots.Add(1))}, nil
	}
	return p, nil
}

func consulStanding(_ context.Context, d contest.Dial, key string) (int, error) {
	c, wire, err := dialConsul(d, false)
	if err != nil {
		return 0, err
	}
	defer wire.CloseIdleConnections()
	names, _, err := c.KV().Keys(key+"/", "", nil)
	return len(names), err
}

// consulFloor is a contender, whose entry has the same name each time.
type consulFloor struct {
	client             *api.Client
	session, line, own string
}

// Lock takes one request if nobody is in line: it locks its entry and lists the
// line. The deletion of the one ahead is the grant if that one was the first; if
// not, it may have given up, and another list tells.
func (l *consulFloor) Lock(ctx context.Context) error {
	ops := api.TxnOps{
		{KV: &api.KVTxnOp{Verb: api.KVLock, Key: l.own, Session: l.session}},
		{KV: &api.KVTxnOp{Verb: api.KVGetTree, Key: l.line}},
	}
	ok, resp, _, err := l.client.Txn().Txn(ops, new(api.QueryOptions).WithContext(ctx))
	if err != nil {
		return err
	}
	if !ok {
		return fmt.Errorf("locking %s: %v", l.own, resp.Errors[0].What)
	}
	var all api.KVPairs
	for _, r := range resp.Results[1:] {
		all = append(all, r.KV)
	}
	for {
		first, ahead, err := l.ahead(all)
		if err != nil || ahead == nil {
			return err
		}
		if err := l.gone(ctx, ahead); err != nil {
			return err
		}
		if first == ahead {
			return nil
		}
		all, _, err = l.client.KV().List(l.line, new(api.QueryOptions).WithContext(ctx))
		if err != nil {
			return err
		}
	}
}

// ahead returns the first in line and the one right before this contender, nil
// if it is the first itself.
func (l *consulFloor) ahead(all api.KVPairs) (first, ahead *api.KVPair, err error) {
	var own *api.KVPair
	for _, n := range all {
		if n.Key == l.own {
			own = n
		}
	}
	if own == nil {
		return nil, nil, errors.New(l.own + " is not in line")
	}
	for _, n := range all {
		if n.CreateIndex >= own.CreateIndex {
			continue
		}
		if first == nil || n.CreateIndex < first.CreateIndex {
			first = n
		}
		if ahead == nil || n.CreateIndex > ahead.CreateIndex {
			ahead = n
		}
	}
	return first, ahead, nil
}

// gone waits until an entry is deleted. One of the same name that came later is
// another.
func (l *consulFloor) gone(ctx context.Context, entry *api.KVPair) error {
	seen := entry.ModifyIndex
	for {
		now, meta, err := l.client.KV().Get(entry.Key, (&api.QueryOptions{WaitIndex: seen}).WithContext(ctx))
		if err != nil {
			return err
		}
		if now == nil || now.CreateIndex != entry.CreateIndex {
			return nil
		}
		seen = meta.LastIndex
	}
}

func (l *consulFloor) Unlock(ctx context.Context) error {
	_, err := l.client.KV().Delete(l.own, new(api.WriteOptions).WithContext(ctx))
	return err
}
