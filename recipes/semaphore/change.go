package semaphore

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/queue"
)

// SetLimit changes the limit for everybody, whatever they were given in New, and
// returns when the change is in the store. It applies to whoever looks at the
// line after it. Raising the limit lets those in who fit now. Lowering it takes
// nothing from those who hold: nobody comes in until they fit into the new limit
// together with what is still held. Who waits for more than the new limit fails
// with an error that Is coord.ErrInvalid, at the latest when it is its turn. Of
// two changes at a time the one that the store saw last counts.
//
// A store of sessions remembers nothing for ever, so a change lasts as long as
// somebody keeps it there, and that is this client: it follows the line, and puts
// the change up again when its session was lost or somebody has removed it. It
// stops when it is closed, or when it sees that another limit was set later.
// (With coord.WithSession the change ends with that session.) Then the limit is
// what it would be without the change: that of New, if nobody keeps another. The
// same holds until a change that was lost is up again, and while the client is cut
// off for longer than its session lives. Nobody else carries a change on, whoever
// has seen it: make it from a process that stays, until all are configured with
// the new limit. Several may set the same limit, and it lasts as long as one of
// them keeps it.
//
// Who was cut off while another client set a limit does not know of it. It puts
// its own up again with the time at which it was set, so the later one counts, if
// it still is there.
//
// ctx bounds the call and not the keeping. After an error the change may have been
// in force for a moment, and the one before it is again; calling SetLimit again
// is safe.
func (s *Semaphore) SetLimit(ctx context.Context, n int) error {
	err := s.err
	if err == nil {
		err = checkLimit(n)
	}
	if err != nil {
		return s.fail("set the limit of", err)
	}
	up, err := s.putUp(ctx, change{most: int64(n)})
	if err != nil {
		return err
	}
	return s.keep(ctx, up)
}

// posted is a change that is in the store.
type posted struct {
	change
	entry *queue.Entry
	hold  *coord.Hold // ends when the entry is lost
	since time.Time
}

// putUp makes a notice of a change.
func (s *Semaphore) putUp(ctx context.Context, c change) (*posted, error) {
	e, err := s.queue.Acquire(ctx, queue.Request{Kind: notice, Value: []byte(c.String())})
	if err != nil {
		return nil, err
	}
	h, err := e.Hold(context.Background()) // whose values nobody asks for
	if err != nil {
		return nil, err
	}
	if !c.stands {
		c.version = e.Node().Token
	}
	return &posted{c, e, h, time.Now()}, nil
}

// confirm writes into the notice that it stands, for others to see. It takes as long
// as the store does to allow it, or until ctx ends.
func (p *posted) confirm(ctx context.Context) {
	for p.entry.Write(ctx, []byte(p.change.String())) != nil && ctx.Err() == nil {
		breathe(ctx)
	}
}

// takeDown removes the notice. It says nothing any more; if need be it goes in the
// background.
func (p *posted) takeDown(ctx context.Context) { _ = p.entry.Release(ctx, p.hold) }

// keep keeps a change instead of the one that was made by this client before.
func (s *Semaphore) keep(ctx context.Context, up *posted) error {
	all := keepersOf(s.client)
	k := &keeper{s: s, up: up}
	of := kept{s.name, s.session}
	all.mu.Lock()
	old := all.last[of]
	late := old != nil && old.made() > up.version
	if !late && !s.client.Go(func(ctx context.Context) { k.run(ctx); all.ended(of, k) }) {
		all.mu.Unlock()
		return s.fail("set the limit of", cmp.Or(up.entry.Err(), coord.ErrClosed))
	}
	if !late {
		all.last[of] = k
	}
	all.mu.Unlock()
	if late {
		up.takeDown(ctx)
	} else if old != nil {
		old.end(ctx)
	}
	return nil
}

// keepers are those of a client, whatever values they were made with: the last for
// each name and session.
type keepers struct {
	mu   sync.Mutex
	last map[kept]*keeper
}

type kept struct {
	name    string
	session *coord.Session // of coord.WithSession, or nil
}

type keepersKey struct{}

func keepersOf(c *coord.Client) *keepers {
	return c.Local(keepersKey{}, func() any { return &keepers{last: make(map[kept]*keeper)} }).(*keepers)
}

// ended forgets a keeper that has come to its end.
func (a *keepers) ended(of kept, k *keeper) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.last[of] == k {
		delete(a.last, of)
	}
}

// keeper keeps a change in the store.
type keeper struct {
	s *Semaphore

	mu    sync.Mutex
	up    *posted // the same change each time
	ended bool
}

func (k *keeper) posted() *posted {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.up
}

func (k *keeper) made() uint64 { return k.posted().version }

// end takes the change away.
func (k *keeper) end(ctx context.Context) {
	k.mu.Lock()
	k.ended = true
	up := k.up
	k.mu.Unlock()
	up.takeDown(ctx)
}

// run keeps the change until ctx ends, which is with the client.
func (k *keeper) run(ctx context.Context) {
	for {
		up := k.posted()
		if k.outdated(ctx, up) {
			k.end(ctx)
			return
		}
		if ctx.Err() != nil || !k.again(ctx, up) {
			return
		}
	}
}

// outdated follows the line, and reports true when another limit was set later, and
// false when the notice is lost or taken down, or ctx has ended. Whoever sets the
// same limit is no reason to stop: two keep it better than one. And one that is
// only being made is none, as it may be given up: if that ended this change, the
// limit would be neither the old nor the new one.
func (k *keeper) outdated(ctx context.Context, up *posted) bool {
	standing, cancel := up.hold.Within(ctx)
	var confirming sync.WaitGroup
	defer confirming.Wait()
	defer cancel()
	if !up.stands {
		confirming.Go(func() { up.confirm(standing) })
	}
	for standing.Err() == nil {
		for line, err := range k.s.queue.Watch(standing) {
			if err != nil {
				break
			}
			if !slices.ContainsFunc(line, up.entry.Node().Same) { // no line that is shown is older than it
				return false
			}
			if in := k.s.inForce(line); in.stands && in.version > up.version && in.most != up.most {
				return true
			}
		}
		breathe(standing) // the store may refuse what it allows later
	}
	return false
}

// again puts the change up again, with its version, as often as it takes, and once a
// second at most. It reports false if there is nothing to keep any more.
func (k *keeper) again(ctx context.Context, lost *posted) bool {
	if time.Since(lost.since) < time.Second { // somebody is at it
		breathe(ctx)
	}
	for told := false; ; told = true {
		k.mu.Lock()
		ended := k.ended
		k.mu.Unlock()
		if ended || ctx.Err() != nil || k.s.session != nil && k.s.session.Err() != nil {
			return false
		}
		if !told {
			k.s.client.Logger().Warn("a change of the limit is not in the store any more and is put up again",
				zap.String("semaphore", k.s.name), zap.Int64("limit", lost.most), zap.Error(lost.hold.Err()))
		}
		up, err := k.s.putUp(ctx, change{lost.most, lost.version, true})
		if err != nil {
			breathe(ctx)
			continue
		}
		k.mu.Lock()
		k.up, ended = up, k.ended
		k.mu.Unlock()
		lost.takeDown(ctx) // it is gone, and this process may not have heard of it
		if ended {         // in the meantime
			up.takeDown(ctx)
		}
		return !ended
	}
}

// breathe waits a second, or until ctx ends.
func breathe(ctx context.Context) {
	timer := time.NewTimer(time.Second)
	defer timer.Stop()
	select { // whichever is first: who calls looks at ctx
	case <-timer.C:
	case <-ctx.Done():
	}
}
