package testserver

import (
	"context"
	"fmt"
)

// Leader waits until a majority of the members, the leader among them, answers
// that it follows one leader, and returns the leader's index in Members. It
// fails when ctx ends, with what the members said last.
//
// A leader that is frozen or was killed is not returned, though its followers
// may still believe in it.
func (c *cluster) Leader(ctx context.Context) (int, error) {
	probes := make([]probe, len(c.members))
	for i, m := range c.members {
		probes[i] = m.newProbe()
		defer probes[i].close()
	}
	for {
		views := c.views(ctx, probes)
		if leader, ok := agreedLeader(views); ok {
			return leader, nil
		}
		if pause(ctx, probeInterval) != nil {
			return 0, fmt.Errorf("%s has no leader that a majority follows: %w: members say %v", c.store, ctx.Err(), views)
		}
	}
}

// view is what one member answers about the cluster.
type view struct {
	leads bool
	// follows names whom it follows, maybe itself: by the term, as no two lead in
	// the same one, or by address, whatever the store tells. It is empty if there
	// is no leader.
	follows string
	err     error // no answer; then the other fields are zero
}

func (v view) String() string {
	switch {
	case v.err != nil:
		return fmt.Sprintf("(%v)", v.err)
	case v.leads:
		return fmt.Sprintf("(leads, %s)", v.follows)
	case v.follows != "":
		return fmt.Sprintf("(follows, %s)", v.follows)
	}
	return "(has no leader)"
}

// views asks all members at once. It gives up those that have not answered once
// the others agree.
func (c *cluster) views(ctx context.Context, probes []probe) []view {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		index int
		view  view
	}
	answers := make(chan answer)
	for i, p := range probes {
		go func() { answers <- answer{i, c.members[i].view(ctx, p)} }()
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

// view asks the member by its probe p.
func (m *member) view(ctx context.Context, p probe) view {
	var v view
	err := m.serving()
	if err == nil {
		err = briefly(ctx, func(ctx context.Context) error {
			var err error
			v, err = p.view(ctx)
			return err
		})
	}
	if err != nil {
		return view{err: err}
	}
	return v
}

// agreedLeader returns the index of the member that says it leads and that a
// majority says to follow.
func agreedLeader(views []view) (int, bool) {
	for i, l := range views {
		if !l.leads {
			continue
		}
		followers := 0
		for _, v := range views {
			if v.follows == l.follows {
				followers++
			}
		}
		if followers > len(views)/2 {
			return i, true
		}
	}
	return 0, false
}
