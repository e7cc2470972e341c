package work

import (
	"testing"
	"time"
)

func TestOutOfOrder(t *testing.T) {
	const second, third = batch + 1, 2*batch + 1
	for _, c := range []struct {
		name   string
		served []int
		want   int
	}{
		{"nobody", nil, 0},
		{"in order", []int{1, 2, second, third}, 0},
		{"swapped within a batch", []int{2, 1, second + 1, second}, 0},
		{"one before an earlier batch's last", []int{1, second, 2, third}, 1},
		{"two before one", []int{third, second, 1}, 2},
	} {
		if got := outOfOrder(c.served); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestOvertaking(t *testing.T) {
	for _, c := range []struct {
		name  string
		later time.Duration
		want  int
	}{
		{"who asked at about the same time", arrival / 2, 0},
		{"who asked later", 2 * arrival, 1},
	} {
		m := newMeter(2, 1)
		m.begin()
		m.asks(0)
		m.asks(1)
		m.asked[1] = m.asked[0].Add(c.later)
		m.got(1, 1, 0)
		if s := m.result(); s.Violations != c.want || s.Checked != 1 {
			t.Errorf("%s: %d violations of %d", c.name, s.Violations, s.Checked)
		}
	}
}

// Where entries are numbered, one who came earlier and gets the lock later is out of
// order, however close they were.
func TestOvertakingByNumber(t *testing.T) {
	m := newMeter(3, 1)
	m.begin()
	for who := range 3 {
		m.asks(who)
	}
	for who, number := range []uint64{7, 9, 8} {
		m.got(who, 1, number)
		m.releases(who, 1)
	}
	if s := m.result(); s.Violations != 1 || s.Checked != 3 {
		t.Errorf("%d violations of %d, want 1 of 3", s.Violations, s.Checked)
	}
}

// let is that somebody was let in.
type let struct {
	number uint64
	writes bool
}

// A writer comes after all of a lower number, and a reader after the writers among them.
func TestOvertakingByReadersAndWriters(t *testing.T) {
	const readers = 3
	for _, c := range []struct {
		name   string
		grants []let
		want   int
	}{
		{"nobody", nil, 0},
		{"in order", []let{{1, false}, {2, true}, {3, false}, {4, false}}, 0},
		{"readers among themselves", []let{{3, false}, {1, false}, {2, false}}, 0},
		{"a reader before a writer", []let{{1, true}, {3, false}, {2, true}}, 1},
		{"a writer before a reader", []let{{2, true}, {1, false}}, 1},
		{"a writer before two", []let{{3, true}, {1, true}, {2, false}}, 1},
	} {
		m := newMeter(readers, readers)
		m.ordered, m.mixed = false, true
		m.begin()
		for _, g := range c.grants {
			weight := 1
			if g.writes {
				weight = readers
			}
			m.asks(0)
			m.got(0, weight, g.number)
			m.releases(0, weight)
		}
		if s := m.result(); s.Violations != c.want || s.Checked != len(c.grants) {
			t.Errorf("%s: %d violations of %d, want %d", c.name, s.Violations, s.Checked, c.want)
		}
	}
}

// Of locks that have nothing to do with each other there is no order to violate.
func TestNoOrderAmongKeys(t *testing.T) {
	const keys = 2
	m := newMeter(keys, keys)
	m.ordered = false
	m.begin()
	for _, number := range []uint64{7, 3, 5, 1} {
		m.asks(0)
		m.got(0, 1, number)
		m.releases(0, 1)
	}
	if s := m.result(); s.Checked != 0 || s.Violations != 0 {
		t.Errorf("%d violations of %d", s.Violations, s.Checked)
	}
}

// Of a semaphore, who comes while those ahead leave room is in order, whoever of them is
// told first.
func TestOvertakingAtASemaphore(t *testing.T) {
	in, out := func(n uint64) int { return int(n) }, func(n uint64) int { return -int(n) }
	for _, c := range []struct {
		name  string
		steps []int // the numbers of who is let in, and with a minus of who lets go
		want  int
	}{
		{"nobody", nil, 0},
		{"in order", []int{in(1), in(2), out(1), in(3), out(2), out(3)}, 0},
		{"two for whom there is room", []int{in(2), in(1), out(1), out(2)}, 0},
		{"two for whom room is made", []int{in(1), in(2), out(2), out(1), in(4), in(3), out(3), out(4)}, 0},
		{"before who had waited", []int{in(1), in(2), out(1), in(4), out(2), in(3), out(3), out(4)}, 1},
		{"before who never let go", []int{in(1), in(2), out(2), in(4), out(4), in(3)}, 1},
	} {
		m := newMeter(5, 2)
		m.begin()
		granted := 0
		for _, s := range c.steps {
			if who := max(s, -s); s < 0 {
				m.releases(who, 1)
			} else {
				granted++
				m.asks(who)
				m.asked[who] = m.asked[who].Add(time.Duration(who) * -arrival) // the clock does not count
				if !m.got(who, 1, uint64(who)) {
					t.Errorf("%s: %d was one too many", c.name, who)
				}
			}
		}
		if s := m.result(); s.Violations != c.want || s.Checked != granted {
			t.Errorf("%s: %d violations of %d, want %d of %d", c.name, s.Violations, s.Checked, c.want, granted)
		}
	}
}

func TestHandoffIsFromUnlockToLock(t *testing.T) {
	m := newMeter(3, 1)
	m.begin()
	m.asks(0)
	m.got(0, 1, 0) // from nobody
	m.asks(1)
	if m.got(1, 1, 0) {
		t.Error("two may hold")
	}
	m.releases(0, 1)
	m.releases(1, 1) // nobody waits
	m.asks(0)
	m.got(0, 1, 0)
	m.asks(1)
	m.releases(0, 1)
	m.got(1, 1, 0)
	m.asks(0)
	m.releases(1, 1)
	m.asks(2)
	m.got(2, 1, 0) // who came when it was free, and was quicker than who waited
	if n := len(m.result().Handoffs); n != 1 {
		t.Errorf("%d handoffs, want 1", n)
	}
}
