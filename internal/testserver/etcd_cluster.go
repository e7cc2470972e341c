package testserver

import (
	"context"
	"errors"
	"fmt"
)

// WaitHealthy waits until every member that was not killed or frozen by the
// caller answers a linearizable read. It fails when ctx ends, with the last
// reasons why not; at once if no such member is left or if one ends by itself.
func (e *Etcd) WaitHealthy(ctx context.Context) error {
	// One member's failure ends the wait for the others, which may depend on it.
	each, cancel := context.WithCancel(ctx)
	defer cancel()
	var down []error
	healthy := make(chan error)
	for _, m := range e.Members {
		err := m.serving()
		if errors.Is(err, errKilled) || errors.Is(err, errFrozen) {
			down = append(down, err)
			continue
		}
		go func() { healthy <- m.WaitHealthy(each) }()
	}
	if len(down) == len(e.Members) {
		return fmt.Errorf("no etcd member serves: %w", errors.Join(down...))
	}
	var errs []error
	for range len(e.Members) - len(down) {
		if err := <-healthy; err != nil {
			errs = append(errs, err)
			cancel()
		}
	}
	if len(errs) > 0 && ctx.Err() == nil {
		return errs[0] // the rest came of the cancel
	}
	return errors.Join(errs...)
}

// Leader waits until a majority of the members, the leader among them, answers
// that it follows one leader in one term, and returns the leader's index in
// Members. It fails when ctx ends, with what the members said last.
//
// A leader that is frozen or was killed is not returned, though its followers
// may still believe in it.
func (e *Etcd) Leader(ctx context.Context) (int, error) {
	probes := make([]*probe, len(e.Members))
	for i, m := range e.Members {
		probes[i] = &probe{member: m}
		defer probes[i].close()
	}
	for {
		views := e.views(ctx, probes)
		if leader, ok := agreedLeader(views); ok {
			return leader, nil
		}
		if pause(ctx, probeInterval) != nil {
			return 0, fmt.Errorf("etcd has no leader that a majority follows: %w: members say %v", ctx.Err(), views)
		}
	}
}

// view is what one member answers about the cluster.
type view struct {
	self, leader, term uint64
	err                error // no answer; then the other fields are 0
}

// String says it in the words of etcd's own logs.
func (v view) String() string {
	if v.err != nil {
		return fmt.Sprintf("(%v)", v.err)
	}
	return fmt.Sprintf("(member %x, term %d, leader %x)", v.self, v.term, v.leader)
}

// views asks all members at once. It gives up those that have not answered once
// the others agree.
func (e *Etcd) views(ctx context.Context, probes []*probe) []view {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		index int
		view  view
	}
	answers := make(chan answer)
	for i, p := range probes {
		go func() { answers <- answer{i, p.view(ctx)} }()
	}
	views := make([]view, len(probes))
	for range probes {
		a := <-answers
		views[a.index] = a.view
		if _, ok := agreedLeader(views); ok {
			cancel()
		}
	}
	return views
}

func (p *probe) view(ctx context.Context) view {
	if err := p.member.serving(); err != nil {
		return view{err: err}
	}
	s, err := p.look(ctx)
	if err != nil {
		return view{err: err}
	}
	return view{self: s.Header.MemberId, leader: s.Leader, term: s.RaftTerm}
}

// agreedLeader returns the index of the member that says it leads and that a
// majority says to follow in the same term.
func agreedLeader(views []view) (int, bool) {
	for i, l := range views {
		if l.leader == 0 || l.leader != l.self {
			continue
		}
		followers := 0
		for _, v := range views {
			if v.leader == l.leader && v.term == l.term {
				followers++
			}
		}
		if followers > len(views)/2 {
			return i, true
		}
	}
	return 0, false
}
