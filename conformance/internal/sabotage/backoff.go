package sabotage

import (
	"context"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// backoffSabotages have pauses between attempts that grow and never shrink.
func backoffSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "backoff-never-reset", Breaks: "W5",
			Doc: "The pauses before a wait is set again grow with each fault and never shrink: after a fault long after others the driver pauses for 15 s.",
			Apply: eachSession(func(s *session) {
				var late lateAfterFaults
				late.follow(s.Session.Done(), s.conn)
				s.wait = func(ctx context.Context, n driver.Node) error {
					err := s.Session.WaitDelete(ctx, n)
					late.pause(ctx)
					return err
				}
			}),
		},
		{
			Name: "watch-backoff-never-reset", Breaks: "V3", Needs: driver.CapWatch,
			Doc: "The pauses before a watch is set again grow with each fault and never shrink: after a fault long after others the driver pauses for 15 s.",
			Apply: eachLoop(func(w *loop, yield yielding) {
				var late lateAfterFaults
				live, cancel := context.WithCancel(w.ctx)
				defer cancel()
				late.follow(live.Done(), w.conn)
				for nodes, err := range w.sound {
					late.pause(w.ctx)
					if !yield(nodes, err) {
						return
					}
				}
			}),
		},
	}
}

// lateAfterFaults tells whether a link was reset long after it refused connections. The zero
// value is ready.
type lateAfterFaults struct {
	mu         sync.Mutex
	cut, reset time.Time // the first one, and the last
}

// follow takes note of a connection's faults until done is closed.
func (l *lateAfterFaults) follow(done <-chan struct{}, c *conn) {
	cut, reset := c.cuts.next(), c.resets.next()
	go func() {
		for {
			select { // if several are ready the others follow
			case <-cut:
				cut = c.cuts.next()
				l.mu.Lock()
				if l.cut.IsZero() {
					l.cut = time.Now()
				}
				l.mu.Unlock()
			case <-reset:
				reset = c.resets.next()
				l.mu.Lock()
				l.reset = time.Now()
				l.mu.Unlock()
			case <-done:
				return
			}
		}
	}()
}

// pause delays what happens after a reset that was more than 20 s after the first cut.
func (l *lateAfterFaults) pause(ctx context.Context) {
	l.mu.Lock()
	cut := l.cut
	l.mu.Unlock()
	if cut.IsZero() || time.Since(cut) < 20*time.Second {
		return
	}
	rest(ctx.Done(), moment) // a reset that is under way is noted
	l.mu.Lock()
	late := l.reset.Sub(cut) > 20*time.Second
	l.mu.Unlock()
	if late {
		rest(ctx.Done(), 15*time.Second)
	}
}
