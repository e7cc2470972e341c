package semaphore

import (
	"cmp"
	"context"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/queue"
)

// SetLimit changes the limit for all clients, whatever they were given in New, and
// returns when the change is in the store. It applies to every look at the line after
// it. Raising the limit lets those in who fit now. Lowering it takes nothing from those
// who hold: a waiter comes in when it fits into the new limit together with what is
// still held. A waiter for more than the new limit fails with an error that Is
// coord.ErrInvalid, at the latest when it is its turn. Of two changes at a time the one
// that the store saw last counts.
//
// A store of sessions remembers nothing for ever, so a change lasts as long as this
// client keeps it there. The client follows the line, and puts the change up again when
// its session was lost or an operator has removed it. It stops when it is closed, or
// when it sees that another limit was set later. (With coord.WithSession the change
// ends with that session.) Then the limit is what it would be without the change: that
// of New, if no other client keeps one. The same holds until a change that was lost is
// up again, and while the client is cut off for longer than its session lives. No other
// client carries the change on: make it from a process that stays, until all are
// configured with the new limit. Several may set the same limit, and it lasts as long
// as one of them keeps it.
//
// A client that was cut off while another one set a limit does not know of it. It puts
// its own up again with the time at which it was set, so the later one counts, if it
// still is there.
//
// ctx bounds the call and not the keeping. After an error the change may have been
// in force for a moment, and the one before it is again; calling SetLimit again
// is safe.
func (s *Semaphore) SetLimit(ctx context.Context, n int) error {
	if err := cmp.Or(s.err, inRange("limit", n)); err != nil {
		return s.fail("set the limit of", err)
	}
	c := change{most: int64(n)}
	up, err := s.putUp(ctx, c)
	if err != nil {
		return err
	}
	c.version = up.Token()
	s.keep(&keeper{s: s, change: c, notice: up})
	return nil
}

// putUp makes a notice of a change.
func (s *Semaphore) putUp(ctx context.Context, c change) (*Held, error) {
	e, err := s.queue.Acquire(ctx, queue.Request{Kind: notice, Value: []byte(c.String())})
	if err != nil {
		return nil, err
	}
	return hold(context.Background(), e, 0) // whose values nobody asks for
}

// keep has the client keep a change instead of the one that it has made before. A change
// that was made on a session of its own ends with that one.
func (s *Semaphore) keep(k *keeper) {
	life, stop := context.WithCancel(context.Background())
	k.stop = stop
	all, of := keepersOf(s.client), kept{s.name, s.session}
	all.mu.Lock()
	defer all.mu.Unlock()
	last, earlier := k, all.last[of]
	if earlier != nil && earlier.version > last.version { // SetLimit was called twice, and the second call was faster
		last, earlier = earlier, last
	}
	all.last[of] = last
	if earlier != nil {
		earlier.stop()
	}
	start := s.client.Go
	if s.session != nil {
		start = s.session.Go
	}
	start(func(ctx context.Context) {
		defer context.AfterFunc(ctx, stop)()
		k.run(life)
		all.ended(of, k)
	})
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
	s    *Semaphore
	stop context.CancelFunc
	change

	notice *Held // only run uses it, and stands
}

// run keeps the change until ctx ends, or another limit is set later. What has failed or is
// lost is tried again, once a second at most.
func (k *keeper) run(ctx context.Context) {
	for ctx.Err() == nil {
		second := time.NewTimer(time.Second)
		if k.stand(ctx) && k.outdated(ctx) {
			break
		}
		select { // the loop looks whether it was ctx
		case <-second.C:
		case <-ctx.Done():
		}
	}
	_ = k.notice.Release(ctx) // if need be it goes on in the background
}

// stand puts the notice up again if it is lost, and has it say that it stands, for others
// to see. It reports whether it has said so.
func (k *keeper) stand(ctx context.Context) bool {
	if lost := k.notice.Err(); lost != nil {
		if up, err := k.s.putUp(ctx, k.change); err == nil {
			k.notice = up
			k.s.client.Logger().Warn("a change of the limit was not in the store any more and is put up again",
				zap.String("semaphore", k.s.name), zap.Int64("limit", k.most), zap.Error(lost))
		}
	}
	k.stands = k.stands || k.notice.entry.Write(ctx, []byte(k.String())) == nil
	return k.stands
}

// outdated follows the line, and reports true when another limit was set later, and
// false when the notice is lost, the line cannot be followed, or ctx has ended. Whoever
// sets the same limit is no reason to stop: two keep it better than one. And one that is
// only being made is none, as it may be given up: if that ended this change, the
// limit would be neither the old nor the new one.
func (k *keeper) outdated(ctx context.Context) bool {
	standing, cancel := k.notice.Within(ctx)
	defer cancel()
	for line := range k.s.queue.Watch(standing) { // of an error the line is empty
		if in := k.s.inForce(line); in.stands && in.version > k.version && in.most != k.most {
			return true
		}
	}
	return false
}
