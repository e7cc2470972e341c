package conformance

import (
	"context"
	"errors"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

// kindCases look at every error that a broken link can cause.
func kindCases() (cases []Case) {
	for _, f := range []struct {
		name        string
		fault, then func(Link)
	}{
		{"frozen", func(l Link) { l.Freeze(netfault.Both) }, func(Link) {}},
		{"replies lost", Link.DropReplies, func(Link) {}},
		{"reset before the reply", func(l Link) { l.Freeze(netfault.Down) }, Link.DropConnections},
		{"connections refused", Link.Cut, func(Link) {}},
	} {
		cases = append(cases, Case{Name: "one kind, " + f.name, Needs: NeedLink,
			Check: func(t *Trial) { t.oneKind(f.fault, f.then) }})
	}
	return cases
}

// oneKind makes all calls over a broken link: some are ended by their ctx, the
// others are given time to find out that nobody answers. Whoever is told that the
// outcome is unknown and that there was none would not know what to do.
func (t *Trial) oneKind(fault, then func(Link)) {
	c, l := t.OpenLink()
	ms := t.methods(c, t.SessionOn(c))
	fault(l)
	kinds := 0
	look := func(method string, err error) {
		uncertain, unavailable := errors.Is(err, driver.ErrUncertain), errors.Is(err, driver.ErrUnavailable)
		if uncertain && unavailable {
			t.Fatalf("%s over a broken link returned %q, which Is both ErrUncertain and ErrUnavailable", method, err)
		}
		if uncertain || unavailable {
			kinds++
		}
	}
	for _, o := range t.surrender(ms, context.WithTimeout) {
		look(o.method, o.err)
	}
	ctx, cancel := context.WithTimeout(t.ctx, t.h.TTL/2) // a third is what an attempt should take
	defer cancel()
	errs := make([]error, len(ms))
	done := make([]<-chan struct{}, len(ms))
	for i, m := range ms {
		done[i] = t.Go(func() { errs[i] = m.call(ctx) })
	}
	t.sleep(t.h.TTL / 8) // for the requests to be on their way
	then(l)
	for i, m := range ms {
		if !t.within(t.h.TTL/2+time.Second, done[i]) {
			t.NotVerified("%s does not return, which B1 is about", m.name)
		}
		look(m.name, errs[i])
	}
	if kinds == 0 {
		t.NotVerified("no call over the broken link returned ErrUncertain or ErrUnavailable")
	}
}
