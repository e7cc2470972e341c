package conformance

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

// without leaves out calls by their names.
func without(ms []method, names ...string) []method {
	return slices.DeleteFunc(ms, func(m method) bool { return slices.Contains(names, m.name) })
}

// staysLostUnderWay makes calls whose replies are held until just after their session
// is lost. A call that returns then tells of it, whatever the store has answered: from
// a success its caller would take it that the session lives.
func staysLostUnderWay(t *Trial) {
	c, l := t.OpenLink()
	s := t.SessionOn(c)
	ms := without(t.methods(c, s), "OpenSession", "Conn.List", "WaitDelete", "WaitAny", "Create") // W4, F2
	ms = append(ms, method{"Create", func(ctx context.Context) error {
		n, err := s.Create(ctx, dir, "created", nil)
		if err == nil && n.Session != s.ID() { // C3
			return driver.ErrSessionLost
		}
		return err
	}})
	l.Freeze(netfault.Down)
	lost := make(chan struct{}) // closed some time after Done, so that there is no doubt which was first
	var calling []<-chan struct{}
	for _, m := range ms {
		calling = append(calling, t.Go(func() {
			for !ended(s.Done()) && t.ctx.Err() == nil {
				err := m.call(t.ctx)
				if ended(lost) && !errors.Is(err, driver.ErrSessionLost) && !driver.Transient(err) {
					t.Fatalf("%s was under way when its session was lost, and returned %s then; want ErrSessionLost", m.name, errorOf(err))
				}
				t.pause()
			}
		}))
	}
	if !t.within(t.h.Expiry, s.Done()) {
		t.NotVerified("Done did not close on a frozen link, which S1 is about")
	}
	t.pause()
	close(lost)
	t.heal(l)
	for i, done := range calling {
		if !t.within(time.Second, done) {
			t.Fatalf("%s, under way when its session was lost, has not returned a second after that", ms[i].name)
		}
	}
}
