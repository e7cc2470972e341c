package zk

import (
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
)

// A server that does not notice a request until the next comes is given one.
func TestRequestThatTheServerHasNotNoticed(t *testing.T) {
	f := start(t)
	s := f.open(long) // whose renewals come too late
	n := f.create(s, "d", "0")
	for _, c := range []struct {
		name string
		op   int32
		call func() error
	}{
		{"by the library", opGetChildren2, func() error { _, err := s.List(within(t), "d"); return err }},
		{"without it", opMulti, func() error { _, err := s.Create(within(t), "d", "1", nil); return err }},
		{"two at once", opGetChildren2, func() error { _, _, err := s.CreateList(within(t), "d", "2", nil); return err }},
	} {
		f.tap.stallAt(c.op)
		if err := c.call(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		f.tap.stallAt(0)
	}
	wait := waiting(within(t), s, n)
	f.eventuallyArmed(s, n)
	must(t, s.Delete(within(t), n))
	must(t, receive(t, "the wait", wait))
}

// Who has ended is not kept alive by that.
func TestNoNudgeOfWhatIsOver(t *testing.T) {
	f := start(t)
	s := f.open(long)
	w := s.link.current()
	before := f.tap.sent()["ping"]
	s.link.nudge(w)
	eventually(t, "a ping", func() bool { return f.tap.sent()["ping"] == before+1 })
	s.link.nudge(nil)
	s.link.retire(driver.ErrClosed)
	s.link.nudge(w)
	s.link.calls.Wait()
	if pings := f.tap.sent()["ping"] - before; pings != 1 {
		t.Errorf("%d pings; want 1", pings)
	}
}
