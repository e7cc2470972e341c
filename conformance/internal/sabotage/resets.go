package sabotage

import (
	"context"

	"github.com/coordkit/coordkit/coord/driver"
)

// mostResets is how many resets of its connection what is broken below bears in all, with
// however much time between them.
const mostResets = 60

// afterResets calls f at the last of them, unless done is closed before.
func (c *conn) afterResets(done <-chan struct{}, f func()) {
	for range mostResets {
		reset := c.resets.next()
		select { // if both are ready there is nothing left to end
		case <-reset:
		case <-done:
			return
		}
	}
	f()
}

func countedSession() Sabotage {
	return Sabotage{
		Name: "resets-of-a-session-counted", Breaks: "S3",
		Doc: "A session is given up when its connection was reset 60 times in all. (A limit of retries that a success does not set back.)",
		Apply: eachSession(func(s *session) {
			e := newEnding()
			see := func() {
				if err := s.Session.Err(); err != nil {
					e.end(err)
				}
			}
			s.show(e, see)
			s.follow(see)
			go s.conn.afterResets(s.Session.Done(), func() { // ends with the sound session
				e.end(&driver.Error{Op: "session", Kind: driver.ErrSessionLost})
			})
		}),
	}
}

func countedWait() Sabotage {
	return Sabotage{
		Name: "resets-of-a-wait-counted", Breaks: "W5",
		Doc: "When the connection was reset 60 times in all, the waits of its sessions are not set again.",
		Apply: eachSession(func(s *session) {
			deaf := make(chan struct{})
			go s.conn.afterResets(s.Session.Done(), func() { close(deaf) }) // ends with the sound session
			s.wait = func(ctx context.Context, n driver.Node) error {
				broken, err := s.waitOr(ctx, n, deaf)
				if broken {
					return s.until(ctx)
				}
				return err
			}
		}),
	}
}

func countedWatch() Sabotage {
	return Sabotage{
		Name: "resets-of-a-watch-counted", Breaks: "V3",
		Doc: "A watch whose connection was reset 60 times in all ends with an error.",
		Apply: eachLoop(func(w *loop, yield yielding) {
			ctx, stop := context.WithCancel(w.ctx)
			defer stop()
			go w.conn.afterResets(ctx.Done(), stop) // ends with the loop
			for nodes, err := range w.conn.soundWatch(ctx, w.dir) {
				if ctxEnded(err) && w.ctx.Err() == nil {
					err = &driver.Error{Op: "watch", Key: w.dir, Kind: driver.ErrUnavailable}
				}
				if !yield(nodes, err) {
					return
				}
			}
		}),
	}
}
