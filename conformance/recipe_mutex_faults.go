package conformance

import (
	"context"
	"errors"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// mutexFaultRules are the promises of the mutex that only a fault puts to the
// test.
func mutexFaultRules() []Rule {
	return []Rule{
		{
			ID:    "M8",
			Text:  "A holder that is cut off is told of its loss before anybody else has the lock.",
			Cases: perDirection(toldFirst),
		},
		{
			ID:    "M9",
			Text:  "A waiter that gives up leaves no entry, and the line moves on.",
			Cases: []Case{{Name: "in the middle of the line", Check: waiterGivesUp}},
		},
		{
			ID:   "M10",
			Text: "A lost reply or a late request leaves no second entry.",
			Cases: []Case{
				{Name: "replies lost", Needs: NeedLink, Check: lostReply},
				{Name: "given up while the request is held", Needs: NeedLink, Check: lateRequest},
			},
		},
		{
			ID:   "M11",
			Text: "Unlock is idempotent and retryable, and never frees a later hold.",
			Cases: []Case{
				{Name: "again and again", Check: unlockAgain},
				{Name: "given up while the link is frozen", Needs: NeedLink, Check: unlockLate},
				{Name: "under a ctx that has ended", Check: unlockUnderDeadContext},
			},
		},
		{
			ID:   "M12",
			Text: "Under a hold's context the lock is re-entered, and not once it is lost.",
			Cases: []Case{
				{Name: "held", Check: reenters},
				{Name: "lost", Needs: NeedExpire, Check: reentersNoMore},
			},
		},
		{
			ID:    "M13",
			Text:  "Whoever's entry an operator removes is told, as holder and as waiter.",
			Cases: []Case{{Name: "a waiter, then the holder", Needs: NeedRemoveNode, Check: removedIsTold}},
		},
		{
			ID:    "M14",
			Text:  "Foreign keys in a line are in nobody's way.",
			Cases: []Case{{Name: "before and behind", Needs: NeedPlantForeign, Check: foreignInLine}},
		},
		{
			ID:    "M15",
			Text:  "Lock, TryLock and Unlock end with their ctx while the link is frozen.",
			Cases: perDirection(endWithCtx),
		},
		{
			ID:    "M16",
			Text:  "Do unlocks whichever way its function ends.",
			Cases: []Case{{Name: "an error and a panic", Check: doUnlocks}},
		},
		{
			ID:    "M17",
			Text:  "A waiter whose session is lost fails, and is never granted the lock.",
			Cases: []Case{{Name: "ended by the store", Needs: NeedExpire, Check: waiterLosesSession}},
		},
		{
			ID:    "M18",
			Text:  "Closing a client ends its holds and waits and leaves nothing.",
			Cases: []Case{{Name: "while holding and waiting", Check: closeEndsAll}},
		},
	}
}

func toldFirst(t *Trial, fault func(Link)) {
	holder, l := t.ClientOverLink()
	held := t.lock(holder)
	next := t.begin(t.ctx, t.Client())
	t.line(2)
	fault(l)
	told := false
	grant := t.Go(func() {
		<-next.over
		told = ended(held.Done())
	})
	if !t.within(t.h.Expiry+t.patience(), grant) {
		t.Fatalf("the next in line is not granted the lock")
	}
	second := t.granted(next, "the next in line")
	if !told && held.Err() == nil {
		t.Fatalf("the next in line was granted the lock, and the holder had not been told")
	}
	t.lost(held, "the holder that was cut off", coord.ErrSessionLost)
	if second.Token() <= held.Token() {
		t.Fatalf("the next in line was granted token %d after %d", second.Token(), held.Token())
	}
	if err := held.Unlock(t.ctx); !errors.Is(err, coord.ErrNotHeld) {
		t.Fatalf("Unlock of a lost lock returned %s; want ErrNotHeld", errorOf(err))
	}
	if second.Err() != nil {
		t.Fatalf("the loser's Unlock ended the next one's hold: %v", second.Err())
	}
}

func waiterGivesUp(t *Trial) {
	a, b, c := t.Client(), t.Client(), t.Client()
	held := t.lock(a)
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	bored := t.locking(ctx, b, 2)
	patient := t.locking(t.ctx, c, 3)
	cancel()
	t.failed(bored, "the waiter that gave up", context.Canceled)
	t.line(2)
	t.stillWaits(patient, "the waiter behind the one that gave up")
	t.unlock(held)
	t.unlock(t.granted(patient, "the waiter behind the one that gave up"))
	t.line(0)
}

func lostReply(t *Trial) {
	c, l := t.ClientOverLink()
	t.unlock(t.lock(c)) // so that there is a session
	l.DropReplies()
	a := t.begin(t.ctx, c)
	t.line(1)
	t.heal(l)
	held := t.granted(a, "after a lost reply")
	t.settles(func() error { t.line(1); return nil })
	t.unlock(held)
	t.line(0)
}

func lateRequest(t *Trial) {
	c, l := t.ClientOverLink()
	t.unlock(t.lock(c))
	l.Freeze(netfault.Up)
	ctx, cancel := context.WithTimeout(t.ctx, t.h.TTL/8)
	defer cancel()
	a := t.begin(ctx, c)
	t.failed(a, "given up over a frozen link", context.DeadlineExceeded)
	t.heal(l)
	t.settles(func() error { t.line(0); return nil })
	t.unlock(t.lock(t.Client()))
}

func unlockAgain(t *Trial) {
	a, b := t.Client(), t.Client()
	held := t.lock(a)
	next := t.locking(t.ctx, b, 2)
	t.unlock(held)
	t.unlock(held)
	second := t.granted(next, "the next in line")
	t.unlock(held)
	t.line(1)
	if err := second.Err(); err != nil {
		t.Fatalf("an old Unlock ended a later hold: %v", err)
	}
	t.lost(held, "the hold that was released", coord.ErrReleased)
	t.unlock(second)
}

func unlockLate(t *Trial) {
	c, l := t.ClientOverLink()
	held := t.lock(c)
	next := t.begin(t.ctx, t.Client())
	t.line(2)
	l.Freeze(netfault.Both)
	ctx, cancel := context.WithTimeout(t.ctx, t.h.TTL/8)
	defer cancel()
	if err := held.Unlock(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("Unlock over a frozen link returned %s; want its ctx's error", errorOf(err))
	}
	t.heal(l)
	t.unlock(held)
	second := t.granted(next, "the next in line")
	again := t.begin(t.ctx, c) // the same slot may be in use again
	t.line(2)
	t.unlock(held)
	t.settles(func() error { t.line(2); return second.Err() })
	t.unlock(second)
	t.unlock(t.granted(again, "the first holder, once more"))
}

func unlockUnderDeadContext(t *Trial) {
	held := t.lock(t.Client())
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	if err := held.Unlock(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("Unlock under a ctx that has ended returned %s", errorOf(err))
	}
	t.line(0)
	t.unlock(held)
}

func reenters(t *Trial) {
	c := t.Client()
	outer := t.lock(c)
	inner, err := mutex.New(c, name).Lock(outer.Context())
	if err != nil || inner.Token() != outer.Token() {
		t.Fatalf("re-entering: %s", errorOf(err))
	}
	t.line(1)
	t.unlock(inner)
	t.line(1)
	if outer.Err() != nil {
		t.Fatalf("the inner Unlock ended the outer hold: %v", outer.Err())
	}
	t.unlock(outer)
	t.line(0)
}

func reentersNoMore(t *Trial) {
	c := t.Client()
	held := t.lock(c)
	t.expire(held.Session().Driver())
	if !t.within(t.h.Expiry, held.Done()) {
		t.Fatalf("the hold outlives its session")
	}
	other := t.lock(t.Client())
	if _, err := mutex.New(c, name).Lock(context.WithoutCancel(held.Context())); !errors.Is(err, coord.ErrNotHeld) {
		t.Fatalf("re-entering a lost lock returned %s; want ErrNotHeld", errorOf(err))
	}
	t.unlock(other)
}

func removedIsTold(t *Trial) {
	a, b, c := t.Client(), t.Client(), t.Client()
	held := t.lock(a)
	second := t.locking(t.ctx, b, 2)
	third := t.locking(t.ctx, c, 3)
	nodes := t.line(3)
	t.removeNode(nodes[1])
	t.failed(second, "the waiter whose entry was removed", coord.ErrRemoved)
	t.stillWaits(third, "the waiter behind it")
	t.removeNode(nodes[0])
	t.lost(held, "the holder whose entry was removed", coord.ErrRemoved)
	t.unlock(t.granted(third, "the next in line"))
}

func foreignInLine(t *Trial) {
	lockDir := "mutex:" + name
	plant := func() {
		if err := t.h.PlantForeign(t.ctx, t.namespace, lockDir); err != nil {
			t.NotVerified("planting foreign keys: %v", err)
		}
	}
	plant()
	held := t.lock(t.Client())
	plant()
	next := t.locking(t.ctx, t.Client(), 2)
	t.unlock(held)
	t.unlock(t.granted(next, "among foreign keys"))
	t.line(0)
}

func endWithCtx(t *Trial, fault func(Link)) {
	c, l := t.ClientOverLink()
	held := t.lock(c)
	m := mutex.New(c, name)
	other := mutex.New(c, "other")
	fault(l)
	start := time.Now()
	for what, call := range map[string]func(context.Context) error{
		"Lock":    func(ctx context.Context) error { _, err := m.Lock(ctx); return err },
		"TryLock": func(ctx context.Context) error { _, err := other.TryLock(ctx); return err },
		"Unlock":  held.Unlock,
	} {
		ctx, cancel := context.WithTimeout(t.ctx, t.h.TTL/10)
		var err error
		done := t.Go(func() { err = call(ctx) })
		<-ctx.Done()
		if !t.within(100*time.Millisecond, done) {
			t.Fatalf("%s did not return within 100 ms of its ctx's end", what)
		}
		cancel()
		// A call may get through in one direction, and the session may end
		// first on a machine that stood still.
		if err != nil && !errors.Is(err, context.DeadlineExceeded) && time.Since(start) < t.h.TTL/2 {
			t.Fatalf("%s returned %q; want its ctx's error", what, err)
		}
	}
}

func doUnlocks(t *Trial) {
	c := t.Client()
	m := mutex.New(c, name)
	oops := errors.New("oops")
	if err := m.Do(t.ctx, func(context.Context, uint64) error { return oops }); err != oops {
		t.Fatalf("Do returned %s; want its function's error", errorOf(err))
	}
	t.line(0)
	func() {
		defer func() { _ = recover() }()
		_ = m.Do(t.ctx, func(context.Context, uint64) error { panic(oops) })
	}()
	t.line(0)
}

func waiterLosesSession(t *Trial) {
	a, b := t.Client(), t.Client()
	held := t.lock(a)
	s, err := b.Session(t.ctx)
	if err != nil {
		t.Fatalf("opening a session: %v", err)
	}
	waiter := t.locking(t.ctx, b, 2)
	t.expire(s.Driver())
	t.failed(waiter, "the waiter whose session the store ended", coord.ErrSessionLost)
	t.unlock(held)
	t.unlock(t.lock(b)) // with another session
}

func closeEndsAll(t *Trial) {
	a, b := t.Client(), t.Client()
	held := t.lock(a)
	waiter := t.locking(t.ctx, b, 2)
	if err := b.Close(t.ctx); err != nil {
		t.Fatalf("Close of the waiter's client: %v", err)
	}
	t.failed(waiter, "the waiter of the closed client", coord.ErrClosed)
	t.line(1)
	if err := a.Close(t.ctx); err != nil {
		t.Fatalf("Close of the holder's client: %v", err)
	}
	t.lost(held, "the hold of the closed client", coord.ErrClosed)
	t.line(0)
}
