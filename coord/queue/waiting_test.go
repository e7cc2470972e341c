package queue_test

import (
	"context"
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
	"github.com/coordkit/coordkit/drivers/mem"
)

// An entry that has to wait says so in the store before it waits, and one that
// holds at once does not.
func TestWaitingIsWritten(t *testing.T) {
	client, err := coord.New(mem.NewStore().Open("test"), coord.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(context.Background())
	q := queue.New(client, "kind", "name", func(line []driver.Node, own int) queue.Verdict {
		if own == 0 {
			return queue.Verdict{}
		}
		return queue.Verdict{Blocked: true, Blocker: line[own-1], Last: own == 1}
	})
	req := queue.Request{Value: []byte("joined"), Waiting: []byte("waits")}
	first, err := q.Acquire(t.Context(), req)
	if err != nil || first.Waited() {
		t.Fatalf("waited: %t, %v", first.Waited(), err)
	}
	second := make(chan *queue.Entry)
	go func() {
		e, err := q.Acquire(t.Context(), req)
		if err != nil {
			t.Error(err)
		}
		second <- e
	}()
	for line, err := range q.Watch(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if got := string(queue.Value(line[0])); got != "joined" {
			t.Errorf("the first says %q", got)
		}
		if len(line) == 2 && string(queue.Value(line[1])) == "waits" {
			break
		}
	}
	if err := first.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := <-second
	if !e.Waited() {
		t.Error("the second has waited, and does not know it")
	}
	if err := e.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, err := range queue.New(client, "kind", "", nil).Watch(t.Context()) {
		if err == nil {
			t.Error("a line without a name can be watched")
		}
	}
}

// If the last entry of a Queue had to wait, the next one is created with the value Waiting,
// which saves a request. A wrong guess is corrected by the entry after it.
func TestWaitingIsExpected(t *testing.T) {
	req := queue.Request{Value: []byte("joined"), Waiting: []byte("waits")}
	bubble(t, func(w *world) {
		a, b := w.client(), w.client()
		_, err := b.Session(w.Ctx)
		w.OK(err)
		queueUp := func() (requests int64) {
			e, h := a.acquire(req)
			before := b.Link().Requests()
			var got *queue.Entry
			over := w.begin(func() (err error) { got, err = b.Acquire(w.Ctx, req); return err })
			w.Settle()
			requests = b.Link().Requests() - before
			w.values("joined", "waits")
			w.OK(e.Release(w.Ctx, h))
			w.Settle()
			if err, over := over(); !over || err != nil || !got.Waited() {
				w.Fatalf("over: %t, %v, waited: %t; want it to hold after a wait", over, err, got.Waited())
			}
			w.OK(got.Leave(w.Ctx))
			return requests
		}
		if first, second := queueUp(), queueUp(); second != first-1 {
			w.Errorf("the second wait began with %d requests, and the first with %d", second, first)
		}
		for _, want := range []bool{true, false} {
			e, h := b.acquire(req)
			if e.Waited() != want {
				w.Errorf("alone it waited: %t; want %t", e.Waited(), want)
			}
			w.OK(e.Release(w.Ctx, h))
		}
	})
}
