package zk

import "testing"

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
