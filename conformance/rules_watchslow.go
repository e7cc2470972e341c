package conformance

import "github.com/coordkit/coordkit/coord/driver"

// behindChanges is how many changes a slow consumer is behind: more than a buffer of 100 or
// 128 states takes.
const behindChanges = 140

// watchesBesideSlow has the body of one loop not return, and meanwhile does with the same
// connection what else there is to do.
func watchesBesideSlow(t *Trial) {
	const beside = "while the consumer of another watch of the connection is slow"
	c, owner := t.Open(), t.Session()
	s := t.SessionOn(c)
	v, apart := t.view(t.Bystander(dir)), t.view(t.Bystander(other))
	busy := make(chan struct{})
	slow := t.observeWith(t.ctx, c, dir, t.slow(busy))
	quick, elsewhere := t.observe(t.ctx, c, dir), t.observe(t.ctx, c, other)
	v.first(slow)
	v.first(quick)
	apart.first(elsewhere)
	for range behindChanges / 2 {
		n := v.create(owner, "0")
		v.shows(quick, "a node was created "+beside)
		v.delete(owner, n)
		v.shows(quick, "a node was deleted "+beside)
	}
	apart.stand = append(apart.stand, t.Create(owner, other, "0"))
	apart.shows(elsewhere, "a node was created in another directory "+beside)
	v.shows(t.observe(t.ctx, c, dir), "it began "+beside)

	n := v.create(owner, "1")
	w := t.wait(s, n)
	v.delete(owner, n)
	t.returnsNil(w, n, "its deletion "+beside)

	t.join("one of the calls made "+beside, t.Go(func() { t.callEach(c, s) }))
	t.stays(s, t.h.TTL*5/4)
	close(busy)
	v.shows(slow, "many changes while its consumer was slow and the connection was used")
}

// callEach makes a plain call of each kind that does not wait.
func (t *Trial) callEach(c driver.Conn, s driver.Session) {
	n := t.Create(s, other, "call", 'x')
	n = t.Update(s, n, 'y')
	t.insist(s, "Session.List", func() error { _, err := s.List(t.ctx, other); return err })
	t.insist(nil, "Conn.List", func() error { _, err := c.List(t.ctx, other); return err })
	t.Delete(s, n)
	_ = s.Abandon(t.ctx, other, "call") // it is to return; what it returns is for C4
	t.closeSession(t.SessionOn(c))
}
