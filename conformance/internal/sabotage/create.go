package sabotage

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

func createSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "created-twice", Breaks: "C1",
			Doc: "One Create makes two nodes. (A client that resends on its own under a new name.)",
			Apply: eachSession(func(s *session) {
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					if err == nil {
						_, _ = s.Session.Create(ctx, dir, id+"x", data)
					}
					return n, err
				}
			}),
		},
		{
			Name: "answers-mixed-up", Breaks: "C1",
			Doc: "Of two Creates at a time on one session, the second gets the first's answer. (etcd: two goroutines on one session both acquire.)",
			Apply: eachSession(func(s *session) {
				var mu sync.Mutex
				type answer struct {
					done chan struct{}
					n    driver.Node
					err  error
				}
				var flying *answer
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					mu.Lock()
					if a := flying; a != nil {
						mu.Unlock()
						select { // if both are ready either is right
						case <-a.done:
							return a.n, a.err
						case <-ctx.Done():
							return driver.Node{}, driver.ContextError(ctx)
						}
					}
					a := &answer{done: make(chan struct{})}
					flying = a
					mu.Unlock()
					pass(s, time.Millisecond)
					a.n, a.err = s.Session.Create(ctx, dir, id, data)
					mu.Lock()
					flying = nil
					mu.Unlock()
					close(a.done)
					return a.n, a.err
				}
			}),
		},
		{
			Name: "ids-without-case", Breaks: "C1",
			Doc:   "The store does not tell capital letters from small ones, and the driver leaves ids as they are. (A column with a collation.)",
			Apply: asID(strings.ToLower),
		},
		{
			Name: "ids-cut-short", Breaks: "C1",
			Doc:   "The name of a node has room for twelve bytes of its id.",
			Apply: asID(func(id string) string { return id[:min(len(id), 12)] }),
		},
		{
			Name: "created-anew", Breaks: "C2",
			Doc: "Create of a slot that is taken removes the node and makes another.",
			Apply: eachSession(func(s *session) {
				var mu sync.Mutex
				made := make(map[string]driver.Node) // by Create, and by slot
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					mu.Lock()
					old, ok := made[dir+"/"+id]
					mu.Unlock()
					if ok {
						_ = s.Session.Delete(ctx, old)
					}
					n, err := s.Session.Create(ctx, dir, id, data)
					if err == nil {
						mu.Lock()
						made[dir+"/"+id] = n
						mu.Unlock()
					}
					return n, err
				}
			}),
		},
		{
			Name: "orphan-after-lost-reply", Breaks: "C2",
			Doc: "When the reply was lost the retry uses another name: the first node stays. (CURATOR-45, -79; zk.Lock; etcd's Lock.)",
			Apply: eachSession(func(s *session) {
				var retry sync.Map // slots of which a Create failed
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					name := id
					if _, ok := retry.Load(dir + "/" + id); ok {
						name += "r"
					}
					n, err := s.Session.Create(ctx, dir, name, data)
					if err != nil && !errors.Is(err, driver.ErrUnavailable) {
						retry.Store(dir+"/"+id, true)
					}
					n.ID = id
					return n, err
				}
				s.abandon = func(ctx context.Context, dir, id string) error {
					err := s.Session.Abandon(ctx, dir, id)
					if err == nil {
						err = s.Session.Abandon(ctx, dir, id+"r")
					}
					if err == nil {
						retry.Delete(dir + "/" + id)
					}
					return err
				}
			}),
		},
		{
			Name: "last-in-line", Breaks: "C2",
			Doc: "After a lost reply Create makes the node again, or finds it, and answers with the last of the line.",
			Apply: eachSession(func(s *session) {
				var retry sync.Map // slots of which a Create failed
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					_, again := retry.LoadAndDelete(dir + "/" + id)
					switch {
					case errors.Is(err, driver.ErrUncertain):
						retry.Store(dir+"/"+id, true)
					case err == nil && again:
						if line, _ := s.Session.List(ctx, dir); len(line) > 0 {
							last := line[len(line)-1]
							last.ID = id
							return last, nil
						}
					}
					return n, err
				}
			}),
		},
		{
			Name: "sure-while-its-ctx-lives", Breaks: "C2",
			Doc: "A Create that the driver has given up itself, while its ctx lived, is not taken for one that may land later.",
			Apply: eachSession(func(s *session) {
				var mu sync.Mutex
				abandoned := make(map[string]int) // how often, by slot
				count := func(dir, id string, more int) int {
					mu.Lock()
					defer mu.Unlock()
					abandoned[dir+"/"+id] += more
					return abandoned[dir+"/"+id]
				}
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					start, before := time.Now(), count(dir, id, 0)
					n, err := s.Session.Create(ctx, dir, id, data)
					if s.unanswered(ctx, start, err) {
						s.later(func() {
							if count(dir, id, 0) == before {
								_, _ = s.Session.Create(s.ctx, dir, id, data)
							}
						})
					}
					return n, err
				}
				s.abandon = func(ctx context.Context, dir, id string) error {
					count(dir, id, 1)
					return s.Session.Abandon(ctx, dir, id)
				}
			}),
		},
		{
			Name: "one-create-remembered", Breaks: "C2",
			Doc: "Of the Creates that were given up only the last is fenced off; that of another slot comes through after its node was deleted.",
			Apply: eachSession(func(s *session) {
				var mu sync.Mutex
				last, forgotten := "", make(map[string]bool) // slots
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					mu.Lock()
					defer mu.Unlock()
					if slot := dir + "/" + id; ctxEnded(err) && slot != last {
						forgotten[last] = last != ""
						last = slot
					}
					return n, err
				}
				s.remove = func(ctx context.Context, n driver.Node) error {
					err := s.Session.Delete(ctx, n)
					mu.Lock()
					defer mu.Unlock()
					if slot := n.Dir + "/" + n.ID; err == nil && forgotten[slot] {
						delete(forgotten, slot)
						s.later(func() { _, _ = s.Session.Create(s.ctx, n.Dir, n.ID, nil) })
					}
					return err
				}
			}),
		},
		{
			Name: "deadlock-after-a-reset", Breaks: "C2",
			Doc: "Of several Creates of a session that meet a reset, each waits for a lock that another one has, until they are given up. " +
				"(A fence's row and a directory's lock, taken in either order.)",
			Apply: eachSession(func(s *session) {
				var creating, stuck atomic.Int64
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					reset := s.conn.resets.next()
					creating.Add(1)
					n, err := s.Session.Create(ctx, dir, id, data)
					if several := creating.Add(-1) > 2; several && over(reset) {
						stuck.Add(1)
					}
					if err != nil && stuck.Load() > 2 {
						return n, s.until(ctx)
					}
					return n, err
				}
			}),
		},
		{
			Name: "doubted-deletion-of-any", Breaks: "C2",
			Doc: "After a Create and a Delete of unknown outcome Create replaces the node, whichever it is that was to be deleted.",
			Apply: eachSession(func(s *session) {
				type slot struct{ dir, id string }
				var mu sync.Mutex
				doubted := make(map[slot]int) // 1: a Create, 2: and a Delete after it
				s.remove = func(ctx context.Context, n driver.Node) error {
					err := s.Session.Delete(ctx, n)
					mu.Lock()
					defer mu.Unlock()
					if at := (slot{n.Dir, n.ID}); errors.Is(err, driver.ErrUncertain) && doubted[at] == 1 {
						doubted[at] = 2
					}
					return err
				}
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					at := slot{dir, id}
					mu.Lock()
					replace := doubted[at] == 2
					mu.Unlock()
					n, err := s.Session.Create(ctx, dir, id, data)
					if err == nil && replace {
						_ = s.Session.Delete(ctx, n)
						n, err = s.Session.Create(ctx, dir, id, data)
					}
					mu.Lock()
					defer mu.Unlock()
					if errors.Is(err, driver.ErrUncertain) {
						doubted[at] = 1
					} else {
						delete(doubted, at)
					}
					return n, err
				}
			}),
		},
		{
			Name: "dying-sessions-node", Breaks: "C3",
			Doc: "Looking for its node after a lost reply, Create takes the one of a former session. (CURATOR-498, -604: two leaders.)",
			Apply: eachConn(func(c *conn) {
				var former sync.Map // IDs of the connection's sessions
				c.sessions(func(s *session) {
					former.Store(s.ID(), true)
					s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
						nodes, _ := s.Session.List(ctx, dir)
						for _, n := range nodes {
							if _, ok := former.Load(n.Session); ok && n.Session != s.ID() && n.ID == id {
								return n, nil
							}
						}
						return s.Session.Create(ctx, dir, id, data)
					}
				})
			}),
		},
	}
}
