package sabotage

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// optionalSabotages are drivers whose plain calls are sound, and one of whose optional
// calls has a fault that another sabotage gives a plain one.
func optionalSabotages() (all []Sabotage) {
	moved := slices.DeleteFunc(slices.Concat(createSabotages(), slotSabotages(), dataSabotages(), listSabotages()), func(s Sabotage) bool {
		return s.Breaks == "L5" || s.Breaks == "C4" || slices.Contains(ofOthers, s.Name)
	})
	for _, s := range slices.Concat(moved, manyRules(), []Sabotage{abandonsSixteen()}) {
		if s.Breaks != "L4" {
			all = append(all, s.in("CreateList", "F1", driver.CapCreateList, inCreateList))
		}
		if s.Breaks[0] == 'L' && !slices.Contains(ofCreate, s.Name) {
			all = append(all, s.in("ListNames", "F4", 0, inNames))
		}
	}
	for _, s := range waitSabotages() {
		if s.Breaks != "W6" {
			all = append(all, s.in("WaitAny", "F2", driver.CapWaitAny, inWaitAny))
		}
	}
	return all
}

// ofOthers are sabotages in which another call than Create and List has a part.
var ofOthers = []string{
	"data-not-copied-for-the-answer", "buffer-used-again", "session-list-of-a-wait", "listing-makes-the-directory",
	"one-create-remembered", "foreign-keys-removed", "doubted-deletion-of-any", "doubt-settled-by-delete",
	"doubt-settled-by-time",
}

// ofCreate are sabotages of lists in which Create has a part too.
var ofCreate = []string{"listed-by-prefix", "missing-directory-is-an-error", "numbered-before-it-shows"}

// manyRules are faults that would break several rules if Create had them, of which one is
// named.
func manyRules() []Sabotage {
	return []Sabotage{
		{
			Name: "sent-again", Breaks: "C2",
			Doc: "One that was given up is sent again later, whatever the caller has done since.",
			Apply: eachSession(func(s *session) {
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					if errors.Is(err, driver.ErrUncertain) {
						s.later(func() { _, _ = s.Session.Create(s.ctx, dir, id, data) })
					}
					return n, err
				}
			}),
		},
		{
			Name: "not-safe-from-a-late-abandon", Breaks: "C4",
			Doc: "An Abandon that was given up takes the node that was made or found since.",
			Apply: eachSession(func(s *session) {
				var made sync.Map // slots
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					n, err := s.Session.Create(ctx, dir, id, data)
					if err == nil {
						made.Store(dir+"/"+id, true)
					}
					return n, err
				}
				s.abandon = func(ctx context.Context, dir, id string) error {
					err := s.Session.Abandon(ctx, dir, id)
					if _, ok := made.Load(dir + "/" + id); ok && errors.Is(err, driver.ErrUncertain) {
						s.later(func() { _ = removeSlot(s.ctx, s.Session, dir, id) })
					}
					return err
				}
			}),
		},
		{
			Name: "barred-by-abandon", Breaks: "C4",
			Doc: "Once a slot was abandoned nothing can be made in it any more.",
			Apply: eachSession(func(s *session) {
				var barred sync.Map // slots
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					if _, ok := barred.Load(dir + "/" + id); ok {
						return driver.Node{}, &driver.Error{Op: "create", Key: dir, Kind: driver.ErrGone}
					}
					return s.Session.Create(ctx, dir, id, data)
				}
				s.abandon = func(ctx context.Context, dir, id string) error {
					barred.Store(dir+"/"+id, true)
					return s.Session.Abandon(ctx, dir, id)
				}
			}),
		},
	}
}

// in is s with its fault in an optional call and not in the plain one. move is given a
// session that is sound, and the broken one.
func (s Sabotage) in(call, rule string, needs driver.Caps, move func(s, broken *session) driver.Session) Sabotage {
	apply := s.Apply
	return Sabotage{
		Name: s.Name + "-in-" + call, Breaks: rule, Like: s.Breaks, Needs: s.Needs | needs,
		Doc: call + ": " + s.Doc,
		Apply: func(h conformance.Harness) conformance.Harness {
			return onConn(apply(h), func(c *conn) {
				broken := optional[*conn](c.Conn)
				c.list, c.watch = broken.Conn.List, broken.soundWatch
				if rule == "F4" {
					c.extra = driver.CapListNames
				}
				c.open = func(ctx context.Context, ttl time.Duration) (driver.Session, error) {
					in, err := broken.OpenSession(ctx, ttl)
					if err != nil {
						return nil, err
					}
					s := optional[*session](in)
					return move(s.healed(ctx, c), s), nil
				}
			})
		},
	}
}

// healed is a session that is sound but for what undoes that which its Create has done.
func (s *session) healed(ctx context.Context, c *conn) *session {
	sound := s.Session
	for broken := optional[*session](sound); broken != nil; broken = optional[*session](sound) {
		sound = broken.Session
	}
	healed := &session{
		Session: s, conn: c, ctx: ctx,
		create: sound.Create, list: sound.List, update: sound.Update, remove: sound.Delete, wait: sound.WaitDelete,
	}
	if f, ok := driver.As[driver.CreateLister](sound); ok {
		healed.createList = f.CreateList
	}
	if f, ok := driver.As[driver.AnyWaiter](sound); ok {
		healed.waitAny = f.WaitAny
	}
	return healed
}

func (s *session) createThenList(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
	n, err := s.Create(ctx, dir, id, data)
	if err != nil {
		return n, nil, err
	}
	nodes, err := s.List(ctx, dir)
	return n, nodes, err
}

// inCreateList has CreateList do what the broken Create and List do.
func inCreateList(s, broken *session) driver.Session {
	s.createList = broken.createThenList
	return s.offered()
}

// inNames has ListNames do what the broken List does.
func inNames(s, broken *session) driver.Session {
	return names{s.offered(), s.createList, upTo(broken.List)}
}

// inWaitAny has WaitAny wait by the broken WaitDelete, which an Update may have a part in.
func inWaitAny(s, broken *session) driver.Session {
	sound := s.waitAny
	s.update = broken.Update
	s.waitAny = func(ctx context.Context, nodes []driver.Node) (int, error) {
		if len(nodes) == 0 {
			return sound(ctx, nodes)
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		type answer struct {
			index int
			err   error
		}
		answers := make(chan answer, len(nodes))
		for i, n := range nodes {
			go func() { answers <- answer{i, broken.WaitDelete(ctx, n)} }() // ends with ctx
		}
		first := <-answers // if several are gone any will do
		return first.index, first.err
	}
	return s.offered()
}
