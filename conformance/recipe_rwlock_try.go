package conformance

import (
	"errors"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// busy wants a Try to fail with ErrBusy.
func (a arena) busy(w subject.Want, what string) {
	h, err := w.Try(a.ctx)
	if !errors.Is(err, coord.ErrBusy) {
		a.Fatalf("%s returned %s; want ErrBusy", what, result(h, err))
	}
	a.namesLine(err)
}

// tries wants a Try to succeed.
func (a arena) tries(w subject.Want, what string) subject.Hold {
	h, err := w.Try(a.ctx)
	if err != nil {
		a.Fatalf("%s: %v", what, err)
	}
	return h
}

func rwTryUnderWriter(t rw) {
	a, b, c := t.Client(), t.Client(), t.Client()
	w := t.tries(t.write(a), "TryLock of a free lock")
	for range 3 {
		t.busy(t.write(b), "TryLock while a writer holds")
		t.busy(t.read(b), "TryRLock while a writer holds")
	}
	t.entries(1)
	t.release(w)
	t.release(t.take(t.write(c))) // a third party
	t.empty()
}

func rwTryUnderReader(t rw) {
	a, b, c := t.Client(), t.Client(), t.Client()
	r := t.tries(t.read(a), "TryRLock of a free lock")
	r2 := t.tries(t.read(b), "TryRLock while another reads")
	t.busy(t.write(b), "TryLock while others read")
	t.entries(2)
	t.release(r2)
	w := t.join(t.ctx, "a writer that waits", t.write(c), 2)
	for range 3 {
		t.busy(t.read(b), "TryRLock while a writer waits")
	}
	t.entries(2)
	t.release(r)
	t.release(t.wins(w))
	t.empty()
}

func rwTryStorm(t rw) {
	const all = 1 << 10
	var r room
	first := t.take(t.write(t.Client()))
	waiter := t.join(t.ctx, "who waits in earnest among those who try", t.write(t.Client()), 2)
	var over []<-chan struct{}
	for i := range 4 {
		l := t.open(t.Client(), name)
		want, weight := l.Read, 1
		if i%2 == 0 {
			want, weight = l.Write, all
		}
		over = append(over, t.Go(func() {
			for range 10 {
				h, err := want.Try(t.ctx)
				if errors.Is(err, coord.ErrBusy) {
					continue
				}
				if err != nil {
					t.Fatalf("a try failed: %v", err)
				}
				t.inside(&r, h, weight, all)
			}
		}))
	}
	t.release(first)
	h := t.wins(waiter)
	r.enter(t.Trial, h, all, all)
	t.pause()
	r.leave(h)
	t.release(h)
	t.Trial.join("a try", over...)
	t.empty()
}
