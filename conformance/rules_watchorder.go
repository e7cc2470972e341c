package conformance

import (
	"fmt"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

// watchOrderCases are those of V2.
func watchOrderCases() []Case {
	cases := []Case{{Name: "many changes", Check: func(t *Trial) {
		neverOlder(t, t.Open(), func(int) {})
	}}}
	for _, f := range []struct {
		name  string
		fault func(t *Trial, l Link, i int)
	}{
		{"connections reset", func(_ *Trial, l Link, i int) {
			if i%4 == 1 {
				l.DropConnections()
			}
		}},
		{"link frozen", func(t *Trial, l Link, i int) {
			switch i % 8 {
			case 1:
				l.Freeze(netfault.Both)
			case 4:
				t.sleep(t.h.TTL / 16)
				t.heal(l)
			}
		}},
		{"replies delayed", func(t *Trial, l Link, i int) {
			switch i % 8 {
			case 1:
				l.Delay(netfault.Down, t.h.TTL/32)
			case 6:
				l.Delay(netfault.Down, 0)
			}
		}},
	} {
		cases = append(cases, Case{Name: f.name, Needs: NeedLink, Check: func(t *Trial) {
			c, l := t.OpenLink()
			neverOlder(t, c, func(i int) { f.fault(t, l, i) })
			t.heal(l)
		}})
	}
	return cases
}

// neverOlder changes a directory again and again, with a fault before each
// change, and then looks through all that a watch of it has shown.
func neverOlder(t *Trial, c driver.Conn, fault func(i int)) {
	const rounds = 32
	s := t.Session()
	v := t.view(t.Bystander(dir))
	counter := v.create(s, "counter", count(0)...)
	o := t.observe(t.ctx, c, dir)
	t.begins(o)
	v.works(o, s)
	for i := range rounds {
		fault(i)
		n := v.create(s, fmt.Sprint(i%3))
		v.update(s, counter, count(i+1)...)
		t.pause() // so that some of it is shown
		v.delete(s, n)
	}
	if err := t.awaits(o, t.patience(), v.look); err != nil {
		t.mustLive(s)
		t.NotVerified("a watch did not show the last state, which V1 and V3 are about: %v", err)
	}
	t.sleep(t.lateness()) // for what comes late
	t.inOrder(o.states())
}

// count is the data of a node that counts: a greater count is a greater string.
func count(i int) []byte { return fmt.Appendf(nil, "%06d", i) }

// inOrder wants no state to be older than one before it: what was seen to go
// does not come back, and what counts does not fall.
func (t *Trial) inOrder(states [][]driver.Node) {
	type name struct {
		key   string
		token uint64
	}
	last := make(map[name]driver.Node) // as it was seen last
	gone := make(map[name]bool)
	for i, nodes := range states {
		now := make(map[name]bool)
		for _, n := range nodes {
			id := name{n.Key, n.Token}
			if now[id] = true; gone[id] {
				t.Fatalf("state %d of a watch shows %s, which an earlier state had shown and a later one not any more", i, show(n))
			}
			if before, ok := last[id]; ok && n.ID == "counter" && string(n.Data) < string(before.Data) {
				t.Fatalf("state %d of a watch shows %s with the data %q, after the later %q", i, show(n), n.Data, before.Data)
			}
			last[id] = n
		}
		for id := range last {
			gone[id] = gone[id] || !now[id]
		}
	}
}
