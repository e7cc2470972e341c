package sabotage

import (
	"context"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// paceSabotages try again without a pause: a thousand times a second, which is what
// time costs here.
func paceSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "polls-without-pause", Breaks: "E4",
			Doc: "A wait asks again and again whether the node is still there.",
			Apply: eachSession(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					defer s.conn.storm(ctx, time.Hour, func() bool { return true })()
					return s.Session.WaitDelete(ctx, n)
				}
			}),
		},
		{
			Name: "sets-watch-without-pause", Breaks: "E4", Needs: driver.CapWaitAny,
			Doc: "A wait for several nodes whose connection is broken sets its watch again at once, and again. (23,000 dials in half a second.)",
			Apply: eachSession(func(s *session) {
				s.waitAny = func(ctx context.Context, nodes []driver.Node) (int, error) {
					defer s.conn.storm(ctx, time.Hour, s.conn.broken.Load)()
					return s.soundAny(ctx, nodes)
				}
			}),
		},
		{
			Name: "watches-without-pause", Breaks: "E4", Needs: driver.CapWatch,
			Doc: "A watch whose connection is broken begins again at once, and again.",
			Apply: eachLoop(func(w *loop, yield yielding) {
				defer w.conn.storm(w.ctx, time.Hour, w.conn.broken.Load)()
				w.sound(yield)
			}),
		},
		{
			Name: "renews-without-pause", Breaks: "E4",
			Doc: "A renewal that fails is made again at once.",
			Apply: eachSession(func(s *session) {
				ctx, cancel := context.WithCancel(s.ctx)
				s.conn.storm(ctx, time.Hour, s.conn.broken.Load)
				s.follow(cancel)
			}),
		},
		{
			Name: "tries-without-pause", Breaks: "E4",
			Doc: "A call that fails is made again at once, for as long as an attempt may take.",
			Apply: eachSession(func(s *session) {
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					m, err := s.Session.Update(ctx, n, data)
					if driver.Transient(err) {
						s.conn.storm(ctx, s.TTL()/3, s.conn.broken.Load)
					}
					return m, err
				}
			}),
		},
		{
			Name: "creates-without-pause", Breaks: "E4",
			Doc:   "Create makes a directory that it does not find and looks whether it is there, again and again. (20,000 requests in two seconds.)",
			Apply: searchRemoved,
		},
	}
}

// searchRemoved has Create in a namespace that was removed look for it without a pause.
func searchRemoved(h conformance.Harness) conformance.Harness {
	removed := noteRemovals(&h)
	return onSession(h, func(s *session) {
		s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
			if removed(s.conn.namespace) {
				s.conn.storm(s.ctx, s.TTL()/3, func() bool { return true })
			}
			return s.Session.Create(ctx, dir, id, data)
		}
	})
}

// storm sends a request each millisecond while a condition holds, and waits for no
// answer. It ends after d, with ctx or the connection, or when stop is called.
func (c *conn) storm(ctx context.Context, d time.Duration, while func() bool) (stop func()) {
	ctx, cancel := context.WithTimeout(ctx, d)
	go func() {
		defer cancel()
		for {
			if !while() {
				rest(ctx.Done(), moment)
			} else {
				rest(ctx.Done(), time.Millisecond)
			}
			if ctx.Err() != nil {
				return
			}
			if !while() {
				continue
			}
			brief, end := context.WithTimeout(ctx, time.Millisecond)
			_, err := c.Conn.List(brief, "queue:nothing")
			end()
			if err != nil && !driver.Transient(err) && !ctxEnded(err) { // the connection is closed
				return
			}
		}
	}()
	return cancel
}
