package main

import (
	"context"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/report"
	"github.com/coordkit/coordkit/bench/wire"
	"github.com/coordkit/coordkit/bench/work"
)

// count has a side do a case once more, through proxies that count its requests
// and slow it down, and fills in what an operation costs the store.
func (v *venue) count(ctx context.Context, c work.Case, side contest.Side, e *report.Entry) {
	s, err := v.counted(ctx, c, side)
	if err != nil {
		e.Notes = append(e.Notes, fmt.Sprintf("its requests could not be counted: %v", err))
		return
	}
	e.Cost = s.Cost
}

func (v *venue) counted(ctx context.Context, c work.Case, side contest.Side) (contest.Sample, error) {
	length := lengthOf(v.plan.short)
	length.Measured = min(length.Measured, time.Second)
	length.Waiters = min(length.Waiters, work.Short.Waiters)
	t := v.turn(side, c.Name, length)
	t.Dial.Servers = nil
	var proxies []*wire.Proxy
	defer func() {
		for _, p := range proxies {
			_ = p.Close() // nothing is left to lose
		}
	}()
	for _, addr := range v.addrs {
		p, err := wire.Listen(addr, v.Reader)
		if err != nil {
			return contest.Sample{}, err
		}
		proxies = append(proxies, p)
		t.Dial.Servers = append(t.Dial.Servers, p.Addr())
	}
	t.Counted = func() (requests, commits int64, err error) {
		for _, p := range proxies {
			requests += p.Requests()
		}
		commits, err = v.Commits(ctx)
		return requests, commits, err
	}
	return c.Run(ctx, t)
}
