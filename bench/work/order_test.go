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
		m.releases(1)
	}
	if s := m.result(); s.Violations != 1 || s.Checked != 3 {
		t.Errorf("%d violations of %d, want 1 of 3", s.Violations, s.Checked)
	}
}

// A writer comes after all of a lower number, and a reader after the writers among them.
func TestOvertakingByReadersAndWriters(t *testing.T) {
	const readers = 3
	for _, c := range []struct {
		name   string
		grants []grant
		want   int
	}{
		{"nobody", nil, 0},
		{"in order", []grant{{1, false}, {2, true}, {3, false}, {4, false}}, 0},
		{"readers among themselves", []grant{{3, false}, {1, false}, {2, false}}, 0},
		{"a reader before a writer", []grant{{1, true}, {3, false}, {2, true}}, 1},
		{"a writer before a reader", []grant{{2, true}, {1, false}}, 1},
		{"a writer before two", []grant{{3, true}, {1, true}, {2, false}}, 1},
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
			m.releases(weight)
		}
		if s := m.result(); s.Violations != c.want || s.Checked != len(c.grants) {
			t.Errorf("%s: %d violations of %d, want %d", c.name, s.Violations, s.Checked, c.want)
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
	m.releases(1)
	m.releases(1) // nobody waits
	m.asks(0)
	m.got(0, 1, 0)
	m.asks(1)
	m.releases(1)
	m.got(1, 1, 0)
	m.asks(0)
	m.releases(1)
	m.asks(2)
	m.got(2, 1, 0) // who came when it was free, and was quicker than who waited
	if n := len(m.result().Handoffs); n != 1 {
		t.Errorf("%d handoffs, want 1", n)
	}
}
