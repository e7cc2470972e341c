package sabotage

import (
	"context"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// waitLeftSabotages leave something behind a wait.
func waitLeftSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "watch-left", Breaks: "W6",
			Doc: "A wait that was given up keeps its watch until the session ends. (CURATOR-107, -654; kazoo PR #490; Consul's queries.)",
			Apply: eachSession(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					return giveUp(ctx, func() error { return s.Session.WaitDelete(context.WithoutCancel(ctx), n) })
				}
			}),
		},
		{
			Name: "any-watch-left", Breaks: "W6", Needs: driver.CapWaitAny,
			Doc: "A WaitAny that was given up keeps its watches until the session ends.",
			Apply: eachSession(func(s *session) {
				s.waitAny = func(ctx context.Context, nodes []driver.Node) (i int, err error) {
					got := make(chan int, 1)
					err = giveUp(ctx, func() error {
						i, err := s.soundAny(context.WithoutCancel(ctx), nodes)
						got <- i
						return err
					})
					if err == nil {
						i = <-got
					}
					return i, err
				}
			}),
		},
		{
			Name: "any-watch-of-an-ended-ctx", Breaks: "W6", Needs: driver.CapWaitAny,
			Doc: "A WaitAny whose ctx has ended sets a watch all the same, which stays until the session ends.",
			Apply: eachSession(func(s *session) {
				s.waitAny = func(ctx context.Context, nodes []driver.Node) (int, error) {
					ended := ctx.Err() != nil
					i, err := s.soundAny(ctx, nodes)
					if ended || ctx.Err() != nil {
						go func() { _ = s.Session.WaitDelete(s.ctx, nodes[0]) }()
					}
					return i, err
				}
			}),
		},
		{
			Name: "watch-left-behind-a-frozen-link", Breaks: "W6",
			Doc: "The store is told once that a wait is over, and on a broken link not at all.",
			Apply: eachSession(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					left, leave := s.leaving(ctx)
					defer leave()
					return giveUp(ctx, func() error { return s.Session.WaitDelete(left, n) })
				}
			}),
		},
		{
			Name: "any-watch-left-behind-a-frozen-link", Breaks: "W6", Needs: driver.CapWaitAny,
			Doc: "Likewise, of WaitAny.",
			Apply: eachSession(func(s *session) {
				s.waitAny = func(ctx context.Context, nodes []driver.Node) (i int, err error) {
					left, leave := s.leaving(ctx)
					defer leave()
					got := make(chan int, 1)
					err = giveUp(ctx, func() error {
						i, err := s.soundAny(left, nodes)
						got <- i
						return err
					})
					if err == nil {
						i = <-got
					}
					return i, err
				}
			}),
		},
		{
			Name: "watches-of-the-others-left", Breaks: "W6", Needs: driver.CapWaitAny,
			Doc: "When WaitAny is told of one node, the watches on the others stay until these go.",
			Apply: eachSession(func(s *session) {
				s.waitAny = func(ctx context.Context, nodes []driver.Node) (int, error) {
					i, err := s.soundAny(ctx, nodes)
					if err == nil && len(nodes) > 2 {
						go func() { _ = s.Session.WaitDelete(s.ctx, nodes[0]) }() // ends with the session
					}
					return i, err
				}
			}),
		},
		{
			Name: "watch-again-at-each-reset", Breaks: "W6",
			Doc: "After a reset a wait sets its watch again, and does not forget the one before.",
			Apply: eachSession(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					stop := s.atEachReset(ctx, func() error { return s.Session.WaitDelete(ctx, n) })
					defer stop()
					return s.Session.WaitDelete(ctx, n)
				}
			}),
		},
		{
			Name: "any-watch-again-at-each-reset", Breaks: "W6", Needs: driver.CapWaitAny,
			Doc: "Likewise, of WaitAny.",
			Apply: eachSession(func(s *session) {
				s.waitAny = func(ctx context.Context, nodes []driver.Node) (int, error) {
					stop := s.atEachReset(ctx, func() error { _, err := s.soundAny(ctx, nodes); return err })
					defer stop()
					return s.soundAny(ctx, nodes)
				}
			}),
		},
		{
			Name: "goroutine-of-each-wait", Breaks: "W6",
			Doc: "Each wait leaves a goroutine until the session ends.",
			Apply: eachSession(func(s *session) {
				s.wait = func(ctx context.Context, n driver.Node) error {
					go func() { <-s.Session.Done() }()
					return s.Session.WaitDelete(ctx, n)
				}
			}),
		},
	}
}

func (s *session) soundAny(ctx context.Context, nodes []driver.Node) (int, error) {
	return optional[driver.AnyWaiter](s.Session).WaitAny(ctx, nodes)
}

// giveUp returns when a call does, or when ctx ends, and leaves the call behind then.
func giveUp(ctx context.Context, call func() error) error {
	done := make(chan error, 1)
	go func() { done <- call() }() // ends with what bounds the call
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-done:
		return err
	}
}

// leaving returns a context for a wait that is left behind if the link is broken when
// ctx ends. The caller calls leave when it returns.
func (s *session) leaving(ctx context.Context) (left context.Context, leave func()) {
	left, cancel := context.WithCancel(context.WithoutCancel(ctx))
	return left, func() {
		if !s.conn.broken.Load() {
			cancel()
		} else {
			context.AfterFunc(s.ctx, cancel)
		}
	}
}

// atEachReset calls f on a goroutine of its own at each reset of the connection, until
// ctx ends or stop is called, which may be because of the last. f ends with ctx, and is
// called again if it fails because of another reset.
func (s *session) atEachReset(ctx context.Context, f func() error) (stop func()) {
	done := make(chan struct{})
	go func() {
		for stopped := false; !stopped; {
			reset := s.conn.resets.next()
			select { // whichever comes first
			case <-reset:
			case <-done:
				stopped = true
				rest(reset, time.Millisecond)
			case <-ctx.Done():
				return
			}
			if over(reset) {
				go func() {
					for driver.Transient(f()) && ctx.Err() == nil {
						rest(ctx.Done(), time.Millisecond)
					}
				}()
			}
		}
	}()
	return sync.OnceFunc(func() { close(done) })
}
