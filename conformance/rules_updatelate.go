package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

// giveUpUpdate makes an Update that is to be swallowed by a fault.
func (t *Trial) giveUpUpdate(s driver.Session, n driver.Node, data string) {
	_ = t.briefly(func(ctx context.Context) error { _, err := s.Update(ctx, n, []byte(data)); return err })
}

// updatesRace delivers the request of an Update that was given up together with
// that of the next one.
func updatesRace(t *Trial) {
	s, l := t.SessionOverLink()
	n := t.Create(s, dir, "0")
	for i := range 3 {
		last := fmt.Sprint("new ", i)
		l.Freeze(netfault.Up)
		t.giveUpUpdate(s, n, fmt.Sprint("given up ", i))
		t.heal(l)
		t.Update(s, n, []byte(last)...)
		t.settles(t.is(n, last))
	}
}

// updateOvertaken lets an Update land when the next one was acknowledged.
func updateOvertaken(t *Trial) {
	s, l := t.SessionOverLink()
	n := t.Create(s, dir, "0")
	release := t.hold(l)
	t.giveUpUpdate(s, n, "given up")
	t.Update(s, n, []byte("new")...)
	release()
	t.settles(t.is(n, "new"))
}

// updatesOvertaken gives up two Updates before one is acknowledged, and in
// between updates another node. Then they land, the later one first.
func updatesOvertaken(t *Trial) {
	s, l := t.SessionOverLink()
	n, m := t.Create(s, dir, "0"), t.Create(s, dir, "1")
	releaseFirst := t.hold(l)
	t.giveUpUpdate(s, n, "given up first")
	releaseSecond := t.hold(l)
	t.giveUpUpdate(s, n, "given up second")
	t.Update(s, m, []byte("new")...)
	t.Update(s, n, []byte("new")...)
	releaseSecond()
	releaseFirst()
	t.settles(func() error { return errors.Join(t.is(n, "new")(), t.is(m, "new")()) })
}

// updateOvertakenBySame gives up an Update and has the data of before written again.
// A store may not count that as a change.
func updateOvertakenBySame(t *Trial) {
	s, l := t.SessionOverLink()
	n := t.Update(s, t.Create(s, dir, "0"), []byte("kept")...)
	release := t.hold(l)
	t.giveUpUpdate(s, n, "given up")
	t.Update(s, n, []byte("kept")...)
	release()
	t.settles(t.is(n, "kept"))
}
