package conformance

import (
	"fmt"

	"github.com/coordkit/coordkit/coord/driver"
)

// closeLeavesNoNode closes a connection with so many sessions over a link that works.
func closeLeavesNoNode(t *Trial, sessions int) {
	t.closeRemovesAtOnce(fmt.Sprintf("Conn.Close with %d sessions", sessions), func() (driver.Conn, []driver.Node) {
		c := t.Open()
		nodes := make([]driver.Node, sessions)
		t.crowd(sessions, func(i int) {
			nodes[i] = t.Create(t.SessionOn(c), dir, fmt.Sprint(i))
			t.Sees(nodes[i])
		})
		return c, nodes
	})
}

// closesUnclosed closes a session while its link refuses connections, and the connection when
// the link is healed and used again: the store still has the session, so Conn.Close asks again.
func closesUnclosed(t *Trial) {
	t.closeRemovesAtOnce("Conn.Close after a session's Close that failed", func() (driver.Conn, []driver.Node) {
		c, l := t.OpenLink()
		s := t.SessionOn(c)
		n := t.Create(s, dir, "0")
		t.Sees(n)
		l.Cut()
		_ = t.briefly(s.Close) // what it returns is for S5
		t.heal(l)
		// The driver may pause before it connects again, and Conn.Close does not wait for that.
		t.insist(nil, "OpenSession, when the link is healed,", func() error { _, err := c.OpenSession(t.ctx, t.h.TTL); return err })
		return c, []driver.Node{n}
	})
}

// closeRemovesAtOnce closes connections over links that work. Their nodes, of one directory, go
// sooner than the leases could run out (see S5).
func (t *Trial) closeRemovesAtOnce(what string, open func() (driver.Conn, []driver.Node)) {
	const tries = 3
	for range tries {
		c, nodes := open()
		gone := func() error {
			there := t.Nodes(dir)
			for _, n := range nodes {
				if _, ok := find(there, n); ok {
					return fmt.Errorf("%s has returned, and a third client still sees %s", what, show(n))
				}
			}
			return nil
		}
		took := t.timed(func() { t.closeConn(c) })
		if t.comes(max(t.h.TTL/2-took, t.lateness()), gone) {
			return
		}
		t.Eventually(t.h.Expiry, gone)
	}
	t.Fatalf("%s, over a link that works, left nodes for half a TTL (%v) and more, %d times in a row", what, t.h.TTL/2, tries)
}
