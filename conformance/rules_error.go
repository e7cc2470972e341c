package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

func errorRules() []Rule {
	return []Rule{
		{
			ID:   "E1",
			Text: "A call ended by its ctx returns an error that Is the ctx's error, and not what the ctx's cause Is.",
			Cases: append(perDirection(saysCtx),
				Case{Name: "waiting", Check: waitSaysCtx},
				Case{Name: "ended before the call", Check: endedBefore},
				Case{Name: "canceled for another's loss", Needs: NeedLink | NeedExpire, Check: saysNoCause},
			),
		},
		{
			ID:    "E2",
			Text:  "ErrUnavailable is returned only when the call surely had no effect, and no error Is both that and ErrUncertain.",
			Cases: append(effectCases(), kindCases()...),
		},
		{
			ID:    "E3",
			Text:  "An attempt that the store does not answer is given up within the TTL, with ErrUncertain or ErrUnavailable, although its ctx lives.",
			Cases: append(attemptCases(), connAttemptCases()...),
		},
	}
}

func saysCtx(t *Trial, fault func(Link)) {
	c, l := t.OpenLink()
	s := t.SessionOn(c)
	ms := t.methods(c, s)
	effect := t.methodEffects(s)
	t.Create(s, dir, "gone")
	if err := s.Abandon(t.ctx, dir, "gone"); err != nil || !t.comes(t.patience(), t.none(s, dir, "gone")) {
		t.NotVerified("Abandon over a link that works does not remove the node, which C4 is about")
	}
	fault(l)
	for _, e := range endings {
		for _, o := range t.surrender(ms, e.make) {
			if !o.saysCtx() {
				t.Fatalf("%s, whose ctx was %s, returned %q; want an error that Is %q", o.method, e.name, o.err, o.ctxErr)
			}
			if seen := effect[o.method]; !o.returned.IsZero() && o.err == nil && seen != nil {
				if err := seen(); err != nil {
					t.Fatalf("%s, whose ctx was %s over a broken link, returned no error, and has had no effect: %v", o.method, e.name, err)
				}
			}
		}
	}
}

// methodEffects are what a third client sees of the methods that change something, once
// they have.
func (t *Trial) methodEffects(s driver.Session) map[string]func() error {
	has := func(id string, data string) func() error {
		return func() error {
			for _, n := range t.mine(s, dir, id) {
				if string(n.Data) == data {
					return nil
				}
			}
			return fmt.Errorf("a third client sees no node of the id %s with the data %q", id, data)
		}
	}
	return map[string]func() error{
		"Create": has("created", ""), "CreateList": has("listed", ""), "Update": has("updated", "new"),
		"Delete": t.none(s, dir, "deleted"), "Abandon": t.none(s, dir, "abandoned"),
	}
}

// saysCtx reports whether the error is as it must be. A call that has not
// returned is for B1; one may succeed in spite of the fault, from a cache for
// example, and one may be ended before by something else.
func (o outcome) saysCtx() bool {
	return o.returned.IsZero() || o.err == nil || o.returned.Before(o.ended) ||
		errors.Is(o.err, o.ctxErr) || isOver(o.err)
}

func waitSaysCtx(t *Trial) {
	s := t.Session()
	n := t.Bystander(dir)
	ms := []method{{"WaitDelete", func(ctx context.Context) error { return s.WaitDelete(ctx, n) }}}
	if f, ok := driver.As[driver.AnyWaiter](s); ok {
		ms = append(ms, method{"WaitAny", func(ctx context.Context) error {
			_, err := f.WaitAny(ctx, []driver.Node{n})
			return err
		}})
	}
	for _, e := range endings {
		for _, o := range t.surrender(ms, e.make) {
			if !o.saysCtx() {
				t.Fatalf("%s, whose ctx was %s, returned %q; want an error that Is %q", o.method, e.name, o.err, o.ctxErr)
			}
		}
	}
}

// endedBefore calls with a ctx that has ended. The call may succeed, but an
// error must say why it failed.
func endedBefore(t *Trial) {
	c := t.Open()
	s := t.SessionOn(c)
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	for _, m := range t.methods(c, s) {
		var err error
		done := t.Go(func() { err = m.call(ctx) })
		if t.within(time.Second, done) && err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("%s with a ctx canceled before returned %q; want an error that Is %q", m.name, err, context.Canceled)
		}
	}
}

// saysNoCause ends calls for a reason that is another session's end, as it is for
// who works under a lock that is lost. Neither they nor their session are lost.
func saysNoCause(t *Trial) {
	other := t.Session()
	t.expire(other)
	if !t.within(t.h.TTL, other.Done()) {
		t.NotVerified("Done did not close, which S4 is about")
	}
	c, l := t.OpenLink()
	s := t.SessionOn(c)
	ms := t.methods(c, s)
	l.Freeze(netfault.Both)
	outcomes := t.surrender(ms, func(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancelCause(parent)
		timer := time.AfterFunc(d, func() { cancel(other.Err()) })
		return ctx, func() { timer.Stop(); cancel(nil) }
	})
	t.heal(l)
	for _, o := range outcomes {
		if errors.Is(o.err, driver.ErrSessionLost) {
			t.Fatalf("%s, whose ctx was canceled because another session is lost, returned %q", o.method, o.err)
		}
	}
	t.stays(s, t.h.TTL/2)
	t.Create(s, dir, "later")
}

// effect is a call with a visible effect on the node (dir, "0").
type effect struct {
	name string
	call func(context.Context, driver.Session, driver.Node) error
	seen func(*Trial, driver.Session, driver.Node) error // nil: the third client sees it
}

func effects() []effect {
	gone := func(t *Trial, _ driver.Session, n driver.Node) error { return t.absent(n)() }
	created := func(t *Trial, s driver.Session, _ driver.Node) error {
		if len(t.mine(s, dir, "1")) == 0 {
			return errors.New("not created")
		}
		return nil
	}
	return []effect{
		{"Create", func(ctx context.Context, s driver.Session, n driver.Node) error {
			_, err := s.Create(ctx, dir, "1", nil)
			return err
		}, created},
		{"CreateList", func(ctx context.Context, s driver.Session, n driver.Node) error {
			f, ok := driver.As[driver.CreateLister](s)
			if !ok {
				return errNotOffered
			}
			_, _, err := f.CreateList(ctx, dir, "1", nil)
			return err
		}, created},
		{"Update", func(ctx context.Context, s driver.Session, n driver.Node) error {
			_, err := s.Update(ctx, n, []byte("new"))
			return err
		}, func(t *Trial, _ driver.Session, n driver.Node) error { return t.is(n, "new")() }},
		{"Delete", func(ctx context.Context, s driver.Session, n driver.Node) error { return s.Delete(ctx, n) }, gone},
		{"Abandon", func(ctx context.Context, s driver.Session, n driver.Node) error { return s.Abandon(ctx, dir, "0") }, gone},
	}
}

var errNotOffered = errors.New("not offered")

func effectCases() (cases []Case) {
	for _, e := range effects() {
		cases = append(cases,
			Case{Name: e.name + ", replies lost", Needs: NeedLink, Check: func(t *Trial) { t.uncertain(e, Link.DropReplies, func(Link) {}) }},
			Case{Name: e.name + ", reset before the reply", Needs: NeedLink, Check: func(t *Trial) {
				t.uncertain(e, func(l Link) { l.Freeze(netfault.Down) }, Link.DropConnections)
			}},
		)
	}
	return append(cases, Case{Name: "Create, request late", Needs: NeedLink, Check: unavailableStaysSo},
		Case{Name: "Create, ctx ended before", Check: sendsNothing})
}

// uncertain lets a call have its effect without a reply. Whatever error it
// returns must not say that it had none.
func (t *Trial) uncertain(e effect, fault, then func(Link)) {
	s, l := t.SessionOverLink()
	t.Bystander(dir)
	n := t.Create(s, dir, "0", []byte("old")...)
	t.Sees(n)
	fault(l)
	ctx, cancel := context.WithTimeout(t.ctx, t.h.TTL*2)
	defer cancel()
	var err error
	done := t.Go(func() { err = e.call(ctx, s, n) })
	seen := t.comes(t.h.TTL/2, func() error {
		if ended(done) && errors.Is(err, errNotOffered) {
			return nil
		}
		return e.seen(t, s, n)
	})
	then(l)
	if !t.within(2*t.h.TTL+time.Second, done) {
		t.NotVerified("%s does not return, which B1 is about", e.name)
	}
	switch {
	case errors.Is(err, errNotOffered):
		t.NotOffered(e.name)
	case !seen:
		t.NotVerified("the request did not get through the link")
	case errors.Is(err, driver.ErrUnavailable):
		t.Fatalf("%s had its effect and its reply was lost; it returned %q, which Is ErrUnavailable", e.name, err)
	}
}

// unavailableStaysSo gives a Create the time to find that nobody answers. If it
// then says that it had no effect, it must not have one later either.
func unavailableStaysSo(t *Trial) {
	s, l := t.SessionOverLink()
	t.Bystander(dir)
	l.Freeze(netfault.Up)
	ctx, cancel := context.WithTimeout(t.ctx, t.h.TTL*2)
	defer cancel()
	_, err := s.Create(ctx, dir, "0", nil)
	t.heal(l)
	if errors.Is(err, driver.ErrUnavailable) {
		t.settles(t.none(s, dir, "0"))
	}
}
