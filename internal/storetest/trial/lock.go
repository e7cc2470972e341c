package trial

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/storetest/register"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// trial is one lock.
type trial struct {
	b    *batch
	name string
	log  register.Log

	quits time.Duration // after the fault began one of the waiters gives up
	early time.Duration // after that the holder unlocks, in the middle of it; 0 if not
	first int           // which of the waiters joins first

	mu      sync.Mutex // guards what follows
	clients int
	lock    *Lock         // what the holder has; nil before
	counts  bool          // it had it when the fault began
	lost    bool          // and was told of its loss
	toldAt  time.Time     // when it was told that it is over
	nextAt  time.Time     // when the first of the others was granted it
	told    chan struct{} // closed with toldAt
	next    chan struct{} // closed with nextAt
}

// access is one holder's way to the trial's register.
type access struct {
	log    *register.Log
	client int
}

func (a access) do(op register.Op) (register.Answer, int, error) {
	answer, entry := a.log.Do(a.client, op)
	return answer, entry, nil
}

func (a access) held(entry int) error { a.log.Held(entry); return nil }

// access numbers the holders.
func (t *trial) access() access {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.clients++
	return access{&t.log, t.clients - 1}
}

// granted records that the first holder has the lock.
func (t *trial) granted(l Lock) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lock = &l
}

// over records that the first holder knows that it does not hold the lock any more.
func (t *trial) over(lost bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.toldAt.IsZero() {
		t.lost, t.toldAt = lost, time.Now()
		close(t.told)
	}
}

// passed records that another has the lock.
func (t *trial) passed(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.nextAt.IsZero() {
		t.nextAt = at
		close(t.next)
	}
}

// isOver reports whether the holder's time is over, or never began.
func (t *trial) isOver() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.lock == nil || !t.toldAt.IsZero()
}

// hold acquires the lock on a session, tells acquired, and keeps it until it is lost
// or may let go. A session that a slow machine loses before that leaves a trial
// that does not count.
func (t *trial) hold(c *coord.Client, s *coord.Session, acquired func()) {
	op := t.b.history.Call(HolderName+".holds", t.name, history.Exclusive, 0)
	held, err := mutex.New(c, t.name, coord.WithSession(s)).Lock(t.b.ctx)
	if err != nil {
		op.Failed(err, t.b.ctx.Err(), 0)
		t.over(true)
		acquired()
		return
	}
	context.AfterFunc(held.Context(), func() { t.over(coord.Lost(held.Err())) })
	t.granted(Lock{t.name, held.Token(), held.Session().ID()})
	letGo, within := t.b.mayLetGo(), t.b.o.Patience
	if t.early > 0 {
		letGo, within = t.b.afterCut(t.early), short
	}
	t.use(op, held, letGo, within, acquired)
}

const (
	// short is the deadline of calls that meet the fault.
	short = 100 * time.Millisecond

	// grace is how long after the end of its ctx a call may return, beside what this
	// process's own timers were late. The contract grants 100 ms, and threads of a busy
	// machine take some; what does not heed its ctx takes a third of the TTL at least.
	grace = 300 * time.Millisecond
)

// use is what anybody does with the lock: work until it is lost or may be let go, and
// unlock it within a time. begun is called when the grant is on record, which comes
// first: what is judged is the moment of the grant. It returns why the lock was lost, if it
// was.
func (t *trial) use(op *history.Op, held *mutex.Held, letGo <-chan struct{}, within time.Duration, begun func()) (lost error) {
	op.Granted(held, held.Session().ID())
	begun()
	stop, working := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(working)
		_ = work(held, t.access(), stop) // a register in this process fails never
	}()
	select { // if both, Err knows
	case <-letGo:
	case <-held.Done():
	}
	lost = held.Err()
	op.Releasing(lost)
	if lost != nil && !errors.Is(lost, coord.ErrNotHeld) {
		t.b.history.Violated(history.Cause, t.name, "the error of a lock that was lost is not ErrNotHeld: %v", lost)
	}
	if lost == nil {
		close(stop)
		<-working
	} else { // it goes on like a program that does not look
		t.b.careless.Go(func() {
			select { // whichever comes first ends it
			case <-working:
			case <-t.b.end:
			}
			close(stop)
			<-working
		})
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	err := held.Unlock(ctx)
	op.Released(lost != nil || errors.Is(err, coord.ErrNotHeld), err, t.b.clock.overdueOf(ctx))
	return lost
}

// wait waits for the lock for as long as it takes, and uses it. It returns why it was
// lost, if it was.
func (t *trial) wait(who string, c *coord.Client) (lost error) {
	for t.b.ctx.Err() == nil {
		op := t.b.history.Call(who, t.name, history.Exclusive, 0)
		held, err := mutex.New(c, t.name).Lock(t.b.ctx)
		at := time.Now()
		if err == nil {
			return t.use(op, held, t.b.mayLetGo(), t.b.o.Patience, func() { t.passed(at) })
		}
		op.Failed(err, t.b.ctx.Err(), 0)
		t.b.pause(t.b.o.TTL / 20) // no busy loop over a store that is away
	}
	return nil
}

// waitApart is wait of a program that the fault leaves alone: it does not lose the lock,
// unless somebody takes it away in the store.
func (t *trial) waitApart(who string, c *coord.Client) {
	if lost := t.wait(who, c); lost != nil && !t.b.f.Outside && t.b.f.MayEnd == "" {
		t.b.history.Violated(history.Cause, t.name, "%s has lost the lock, and nothing has happened to it: %v", who, lost)
	}
}

// quit waits for the lock, gives up in the middle of the fault, and tries once more
// with a short deadline.
func (t *trial) quit(who string, c *coord.Client) {
	up := t.b.afterCut(t.quits)
	ctx, cancel := context.WithCancel(t.b.ctx)
	defer cancel()
	var ended time.Time // written before ctx ends
	go func() {
		select { // if both, it has ended all the same
		case <-up:
			ended = time.Now()
			cancel()
		case <-ctx.Done():
		}
	}()
	for !t.try(ctx, who, c, func() time.Duration { return t.b.clock.overdue(ended) }) && ctx.Err() == nil {
		t.b.pause(t.b.o.TTL / 20)
	}

	ctx, cancel = context.WithTimeout(t.b.ctx, short)
	defer cancel()
	t.try(ctx, who, c, func() time.Duration { return t.b.clock.overdueOf(ctx) })
}

// try waits for the lock until ctx ends, and reports whether it was granted. overdue
// says how long ago ctx ended, once it has.
func (t *trial) try(ctx context.Context, who string, c *coord.Client, overdue func() time.Duration) bool {
	op := t.b.history.Call(who, t.name, history.Exclusive, 0)
	held, err := mutex.New(c, t.name).Lock(ctx)
	at := time.Now()
	if err == nil {
		t.use(op, held, ctx.Done(), t.b.o.Patience, func() { t.passed(at) })
		return true
	}
	late := time.Duration(0)
	if ctx.Err() != nil && t.b.ctx.Err() == nil {
		late = overdue()
	}
	op.Failed(err, ctx.Err(), late)
	return false
}
