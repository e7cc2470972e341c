package sabotage

import (
	"context"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// slowSabotages have what a connection does wait for the consumers of its watches.
func slowSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "watches-wait-for-the-slowest", Breaks: "V1",
			Doc: "One goroutine hands the news of all watches of a connection to one consumer after the other.",
			Apply: eachConn(func(c *conn) {
				b := new(bodies)
				b.follow(c, func(w *loop) { b.wait(w.ctx) })
			}),
		},
		{
			Name: "waits-wait-for-a-consumer", Breaks: "V1",
			Doc: "The goroutine that tells waits of deletions also calls the consumers of watches.",
			Apply: eachConn(func(c *conn) {
				b := new(bodies)
				b.follow(c, nil)
				c.sessions(func(s *session) {
					s.wait = func(ctx context.Context, n driver.Node) error {
						err := s.Session.WaitDelete(ctx, n)
						b.wait(ctx)
						return err
					}
				})
			}),
		},
		{
			Name: "calls-wait-for-a-consumer", Breaks: "V1",
			Doc: "The goroutine that reads answers from a connection also calls the consumers of watches.",
			Apply: eachConn(func(c *conn) {
				b := new(bodies)
				b.follow(c, nil)
				c.sessions(func(s *session) {
					s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
						b.wait(ctx)
						return s.Session.Update(ctx, n, data)
					}
				})
			}),
		},
		{
			Name: "renewals-wait-for-a-consumer", Breaks: "V1",
			Doc: "The sessions of a connection are not renewed while the consumer of a watch is busy.",
			Apply: eachConn(func(c *conn) {
				var mu sync.Mutex
				var sessions []*session
				c.sessions(func(s *session) {
					mu.Lock()
					defer mu.Unlock()
					sessions = append(sessions, s)
				})
				end := func() {
					mu.Lock()
					defer mu.Unlock()
					for _, s := range sessions {
						_ = s.Session.Close(s.ctx)
					}
				}
				c.loops(func(w *loop, yield yielding) {
					w.sound(func(nodes []driver.Node, err error) bool {
						defer time.AfterFunc(time.Second, end).Stop() // the TTL in virtual time
						return yield(nodes, err)
					})
				})
			}),
		},
	}
}

// bodies are the bodies of the loops of a connection.
type bodies struct {
	mu   sync.Mutex
	busy int    // how many are under way
	free signal // fires when none is any more
}

// follow notes the bodies of a connection's loops. before is called with each state but
// the first of its loop.
func (b *bodies) follow(c *conn, before func(*loop)) {
	c.loops(func(w *loop, yield yielding) {
		first := true
		for nodes, err := range w.sound {
			if !first && err == nil && before != nil {
				before(w)
			}
			first = false
			if !b.run(func() bool { return yield(nodes, err) }) {
				return
			}
		}
	})
}

// run runs a body, which may panic.
func (b *bodies) run(body func() bool) bool {
	b.add(1)
	defer b.add(-1)
	return body()
}

func (b *bodies) add(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy += n
	if b.busy == 0 {
		b.free.fire()
	}
}

// wait waits until no body is under way, or ctx ends.
func (b *bodies) wait(ctx context.Context) {
	for {
		b.mu.Lock()
		busy, free := b.busy, b.free.next()
		b.mu.Unlock()
		if busy == 0 {
			return
		}
		select { // if both are ready either is right
		case <-free:
		case <-ctx.Done():
			return
		}
	}
}
