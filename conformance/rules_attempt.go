package conformance

import (
	"context"
	"errors"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// attempts are the calls of a session that make one attempt and report. Waits
// and watches go on by themselves, and for Conn.List and OpenSession no lease
// runs out meanwhile.
func attempts() []effect {
	return append(effects(), effect{name: "List", call: func(ctx context.Context, s driver.Session, _ driver.Node) error {
		_, err := s.List(ctx, dir)
		return err
	}})
}

// attemptCases makes a case of each call.
func attemptCases() (cases []Case) {
	for _, e := range attempts() {
		cases = append(cases, Case{Name: e.name + " over a frozen link", Needs: NeedLink, Check: func(t *Trial) {
			t.Bystander(dir)
			for _, d := range directions {
				t.givesUp(e, func(l Link) { l.Freeze(d) })
			}
		}})
	}
	return cases
}

// givesUp makes a call on a session that was just opened, so that nearly the
// whole TTL is left, over a link that has just been broken. The caller, who
// would wait, must be told while the session lives: when it is lost there is
// nothing left to ask another server for.
//
// A process that stands still for most of the TTL finds both over at once. So
// only a call that ends with its session three times in a row fails.
func (t *Trial) givesUp(e effect, fault func(Link)) {
	const rounds = 3
	for round := range rounds {
		c, l := t.OpenLink()
		s := t.SessionOn(c)
		n := t.Create(s, dir, "0")
		fault(l)
		var err error
		start := time.Now()
		done := t.Go(func() { err = e.call(t.ctx, s, n) })
		if !t.within(t.h.TTL, done) {
			t.Fatalf("%s has not returned a TTL (%v) after it was made over a broken link", e.name, t.h.TTL)
		}
		took := time.Since(start).Round(time.Millisecond)
		switch {
		case errors.Is(err, errNotOffered):
			t.NotOffered(e.name)
		case err == nil, errors.Is(err, driver.ErrUncertain), errors.Is(err, driver.ErrUnavailable):
			return // nil: from a cache, for example
		case !isOver(err):
			t.Fatalf("%s over a broken link returned %q after %v; want ErrUncertain or ErrUnavailable", e.name, err, took)
		case round == rounds-1:
			t.Fatalf("%s over a broken link was given up only with the session, %v after it was made and with a TTL of %v: %v",
				e.name, took, t.h.TTL, err)
		}
	}
}
