package broken

import (
	"context"
	"fmt"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

// post puts up a notice of a limit in a semaphore's line, which says that it
// stands.
type post func(ctx context.Context, limit int) (*coord.Hold, error)

// posting posts in the line of a name.
func posting(c *coord.Client, name string) post {
	q := queue.New(c, "semaphore", name, func([]driver.Node, int) queue.Verdict { return queue.Verdict{Aside: true} })
	return func(ctx context.Context, limit int) (*coord.Hold, error) {
		e, err := q.Acquire(ctx, queue.Request{Kind: "l", Value: fmt.Appendf(nil, "%d@0", limit)})
		if err != nil {
			return nil, err
		}
		h, err := e.Hold(context.Background())
		if err != nil {
			return nil, err
		}
		return h, e.Write(ctx, fmt.Appendf(nil, "%d@%d", limit, e.Node().Token))
	}
}

// setting makes a semaphore whose limit is set in a wrong way.
func setting(name, breaks, doc string, set func(ctx context.Context, p post, sound subject.Counting, limit int) error) Recipe[Semaphore] {
	return Recipe[Semaphore]{name, breaks, doc, func(c *coord.Client, name string, limit int) subject.Counting {
		s := subject.Semaphore(c, name, limit)
		sound, p := s, posting(c, name)
		s.SetLimit = func(ctx context.Context, n int) error {
			if n < 1 || n > semaphore.MaxLimit {
				return sound.SetLimit(ctx, n) // which says what is wrong with it
			}
			return set(ctx, p, sound, n)
		}
		return s
	}}
}

// brokenLimits are semaphores whose changed limit lasts too long or not long
// enough.
func brokenLimits() []Recipe[Semaphore] {
	return []Recipe[Semaphore]{
		setting("change-of-a-session", "P27", "A change of the limit is gone with the session or the node that it was made with, and with nothing else.",
			func(ctx context.Context, p post, _ subject.Counting, limit int) error {
				_, err := p(ctx, limit)
				return err
			}),
		setting("old-change-as-new", "P27", "A change of the limit that is put up again counts as made then, and overrides one that was made in between.",
			func(ctx context.Context, p post, _ subject.Counting, limit int) error {
				h, err := p(ctx, limit)
				if err != nil {
					return err
				}
				go func() {
					for err == nil { // until the client is closed
						<-h.Done()
						h, err = p(context.Background(), limit)
					}
				}()
				return nil
			}),
		setting("given-up-change-is-made", "P27", "Who gives up setting the limit has set it when the store is heard of again.",
			func(ctx context.Context, _ post, sound subject.Counting, limit int) error {
				done := make(chan error, 1)
				go func() { done <- sound.SetLimit(context.WithoutCancel(ctx), limit) }() // until the client is closed
				select {
				case err := <-done:
					return err
				case <-ctx.Done():
					return ctx.Err()
				}
			}),
		setting("set-if-different", "P26", "The limit is not set where it is that already, so only the first who set it keeps it.",
			func(ctx context.Context, _ post, sound subject.Counting, limit int) error {
				if now, _, err := sound.Limit(ctx); err != nil || now == limit {
					return err
				}
				return sound.SetLimit(ctx, limit)
			}),
		counting("limit-outlives-session", "P29", "A change of the limit that is made with a session is kept with another one of the client.",
			func(s subject.Counting) subject.Counting {
				shared := s
				s.On = func(*coord.Session) subject.Counting { return shared }
				return s
			}),
		{"limit-trouble-is-final", "P11", "SetLimit takes a request that was lost for the answer.",
			func(c *coord.Client, name string, limit int) subject.Counting {
				s := subject.Semaphore(c, name, limit)
				set := s.SetLimit
				s.SetLimit = func(ctx context.Context, n int) error {
					if err := looksOnce(ctx, c); err != nil {
						return err
					}
					return set(ctx, n)
				}
				return s
			}},
		{"carried-on", "P26", "Who has seen a change of the limit carries it on, also when another has taken its place or nobody keeps it any more.",
			func(c *coord.Client, name string, limit int) subject.Counting {
				s := subject.Semaphore(c, name, limit)
				want, p := s.Want, posting(c, name)
				s.Want = func(n int) subject.Want {
					w := want(n)
					acquire := w.Acquire
					w.Acquire = func(ctx context.Context) (subject.Hold, error) {
						if now, _, err := s.Limit(ctx); err == nil && now != limit {
							_, _ = p(ctx, now)
						}
						return acquire(ctx)
					}
					return w
				}
				return s
			}},
	}
}
