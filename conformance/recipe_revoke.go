package conformance

import (
	"context"
	"errors"
	"strings"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// revocation makes the cases of a recipe's rule about it.
func (cs contests) revocation() (cases []Case) {
	for _, c := range []struct {
		what  string
		needs Need
		check func(duel)
	}{
		{"a holder that listens", 0, revokesHolder},
		{"nobody listens", 0, revokesNobody},
		{"a waiter", 0, revokesWaiter},
		{"a waiter, and then the holder", 0, revokesWaiterThenHolder},
		{"the listener's connection is reset", NeedLink, revokesOverReset},
		{"the listener loses what it holds", NeedExpire, revokesLost},
		{"the request is removed", NeedRemoveNode, revokesRemoved},
	} {
		cases = append(cases, cs.cases(c.what, c.needs, c.check)...)
	}
	cases = append(cases, cs.revokesAtEveryStep("trouble", 0, trouble()...)...)
	return append(cases, cs.revokesAtEveryStep("the asking session ends", NeedExpire, sessionEnds()...)...)
}

// asking is a Revoke under way.
type asking struct {
	err  error
	over <-chan struct{}
}

func (d duel) ask(ctx context.Context, w subject.Want, token uint64, reason string) *asking {
	a := &asking{}
	a.over = d.Go(func() { a.err = w.Revoke(ctx, token, reason) })
	return a
}

// letGo wants Revoke to succeed, which it does when the entry is gone.
func (d duel) letGo(a *asking) {
	if !d.within(d.patience(), a.over) {
		d.Fatalf("Revoke does not return although the entry is gone")
	}
	if a.err != nil {
		d.Fatalf("Revoke returned %v although the entry is gone", a.err)
	}
}

// listening is a Revoked under way.
type listening struct {
	got  coord.Revocation
	err  error
	over <-chan struct{}
}

func (d duel) listen(ctx context.Context, h subject.Hold) *listening {
	l := &listening{}
	l.over = d.Go(func() { l.got, l.err = h.Revoked(ctx) })
	return l
}

// hears wants Revoked to return with the request.
func (d duel) hears(l *listening, owner, reason string) {
	if !d.within(d.patience(), l.over) {
		d.Fatalf("Revoked does not return although somebody asks")
	}
	if l.err != nil || l.got.Reason != reason || l.got.By.Name != owner || l.got.By.PID == 0 || l.got.Since.IsZero() {
		d.Fatalf("Revoked returned %+v, %s; want the reason %q of %q", l.got, errorOf(l.err), reason, owner)
	}
}

// hearsNothing wants a Revoked that is given up after a while to have nothing
// to say.
func (d duel) hearsNothing(h subject.Hold, what string) {
	ctx, cancel := context.WithTimeout(d.ctx, d.h.TTL/8)
	defer cancel()
	l := d.listen(ctx, h)
	if !d.within(d.h.TTL/8+d.patience(), l.over) {
		d.Fatalf("%s: Revoked does not return although its ctx has ended", what)
	}
	if !errors.Is(l.err, context.DeadlineExceeded) {
		d.Fatalf("%s: Revoked returned %+v, %s; want its ctx's error", what, l.got, errorOf(l.err))
	}
}

// named opens a client that says who it is.
func (t *Trial) named(owner coord.Owner) *coord.Client {
	c, err := coord.New(t.Open(), coord.Config{SessionTTL: coord.Duration(t.h.TTL), Owner: owner})
	if err != nil {
		t.Fatalf("making a client: %v", err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), t.h.TTL)
		defer cancel()
		_ = c.Close(ctx)
	})
	return c
}

func revokesHolder(d duel) {
	operator := d.one(d.named(coord.Owner{Name: "operator"}))
	held := d.take(d.one(d.Client()))
	next := d.join(d.ctx, "the next in line", d.other(d.Client()), 2)
	before := d.entries(2)
	l := d.listen(d.ctx, held)
	d.pause()                           // so that, as a rule, it listens when it is asked
	reason := strings.Repeat("x", 1024) // as long as it may be
	if err := operator.Revoke(d.ctx, held.Token(), reason+"x"); !errors.Is(err, coord.ErrInvalid) {
		d.Fatalf("Revoke for a reason that is too long returned %s; want ErrInvalid", errorOf(err))
	}
	a := d.ask(d.ctx, operator, held.Token(), reason)
	d.hears(l, "operator", reason)
	d.pause()
	late := d.listen(d.ctx, held) // who listens late hears it too
	d.hears(late, "operator", reason)
	if !late.got.Since.Equal(l.got.Since) {
		d.Fatalf("a request that was heard twice is said to have been made at %v, and at %v", l.got.Since, late.got.Since)
	}
	d.stay([]subject.Hold{held}, next)
	if ended(a.over) {
		d.Fatalf("Revoke returned %s while it is still held", errorOf(a.err))
	}
	for i, n := range d.entries(2) {
		// The next in line may have noted meanwhile that it has to wait.
		asked := n.Token == held.Token()
		if !n.Same(before[i]) || asked && string(n.Data) != string(before[i].Data) {
			d.Fatalf("asking has made %s with %q of %s with %q", show(n), n.Data, show(before[i]), before[i].Data)
		}
	}
	d.release(held)
	d.letGo(a)
	second := d.wins(next)
	d.hearsNothing(second, "the next in line, who was not asked")
	if err := operator.Revoke(d.ctx, held.Token(), "again"); err != nil {
		d.Fatalf("Revoke of what is gone: %v", err)
	}
	d.release(second)
	d.empty()
	d.bare(d.asks())
}

func revokesNobody(d duel) {
	held := d.take(d.one(d.Client()))
	operator := d.one(d.Client())
	ctx, cancel := context.WithTimeout(d.ctx, d.h.TTL/4)
	defer cancel()
	if err := operator.Revoke(ctx, held.Token(), ""); !errors.Is(err, context.DeadlineExceeded) {
		d.Fatalf("Revoke of who does not listen returned %s; want its ctx's error", errorOf(err))
	}
	d.holds(held)
	d.bare(d.asks()) // it is withdrawn
	d.hearsNothing(held, "after the request was withdrawn")
	d.release(held)
	d.empty()
}

func revokesWaiter(d duel) {
	held := d.take(d.one(d.Client()))
	next := d.join(d.ctx, "the waiter that is asked", d.other(d.Client()), 2)
	token := d.entries(2)[1].Token
	a := d.ask(d.ctx, d.one(d.named(coord.Owner{Name: "operator"})), token, "not you")
	d.hearsNothing(held, "the holder, who was not asked")
	d.waits(next)
	d.release(held)
	second := d.wins(next)
	d.hears(d.listen(d.ctx, second), "operator", "not you")
	d.holds(second)
	d.release(second)
	d.letGo(a)
	d.empty()
}

// revokesWaiterThenHolder asks two, of whom the first does not listen.
func revokesWaiterThenHolder(d duel) {
	operator := d.one(d.named(coord.Owner{Name: "operator"}))
	held := d.take(d.one(d.Client()))
	next := d.join(d.ctx, "the waiter that is asked", d.other(d.Client()), 2)
	l := d.listen(d.ctx, held)
	first := d.ask(d.ctx, operator, d.entries(2)[1].Token, "the waiter")
	d.pause() // so that, as a rule, it is the first
	second := d.ask(d.ctx, operator, held.Token(), "the holder")
	d.hears(l, "operator", "the holder")
	d.release(held)
	d.letGo(second)
	d.release(d.wins(next))
	d.letGo(first)
	d.empty()
}

func revokesOverReset(d duel) {
	c, link := d.ClientOverLink()
	held := d.take(d.one(c))
	l := d.listen(d.ctx, held)
	link.DropConnections()
	d.ask(d.ctx, d.one(d.named(coord.Owner{Name: "operator"})), held.Token(), "maintenance")
	d.hears(l, "operator", "maintenance")
	d.release(held)
	d.empty()
}

func revokesLost(d duel) {
	held := d.take(d.one(d.Client()))
	l := d.listen(d.ctx, held)
	a := d.ask(d.ctx, d.one(d.Client()), held.Token()+1<<20, "nobody has that token")
	d.letGo(a)
	d.expire(held.Session().Driver())
	if !d.within(d.h.Expiry, l.over) {
		d.Fatalf("Revoked does not return although the hold is lost")
	}
	if !errors.Is(l.err, coord.ErrNotHeld) {
		d.Fatalf("Revoked returned %+v, %s after a loss; want ErrNotHeld", l.got, errorOf(l.err))
	}
}

// revokesRemoved has an operator remove a request, which then nobody can hear.
func revokesRemoved(d duel) {
	held := d.take(d.one(d.Client()))
	a := d.ask(d.ctx, d.one(d.Client()), held.Token(), "maintenance")
	d.hears(d.listen(d.ctx, held), "", "maintenance")
	d.removeNode(d.Nodes(d.asks())[0])
	if !d.within(d.patience()+d.h.TTL, a.over) {
		d.Fatalf("Revoke does not return although its request was removed")
	}
	if !errors.Is(a.err, coord.ErrRemoved) {
		d.Fatalf("Revoke whose request was removed returned %s; want ErrRemoved", errorOf(a.err))
	}
	d.stay([]subject.Hold{held})
	d.release(held)
	d.empty()
}
