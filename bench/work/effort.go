package work

import (
	"context"
	"errors"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
)

// effort is what the clients' process and the store have spent so far.
type effort struct {
	cpu               time.Duration
	requests, commits int64
	syncs             int64
	err               error
}

func (t Turn) effort(ctx context.Context) effort {
	e := effort{cpu: cpu()}
	if t.Counted != nil {
		e.requests, e.commits, e.err = t.Counted()
	}
	if t.Synced != nil && e.err == nil {
		e.syncs, e.err = t.Synced(ctx)
	}
	return e
}

// spent adds to a sample what was spent from before to after.
func (t Turn) spent(s *contest.Sample, before, after effort) error {
	s.CPU = after.cpu - before.cpu
	if s.Ops == 0 {
		return nil
	}
	each := func(n int64) float64 { return float64(n) / float64(s.Ops) }
	if t.Counted != nil {
		s.Cost = &contest.Cost{Requests: each(after.requests - before.requests), Commits: each(after.commits - before.commits)}
	}
	s.Syncs = each(after.syncs - before.syncs)
	return errors.Join(before.err, after.err)
}
