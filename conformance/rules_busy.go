package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// These cases wait and list in a directory that changes all the time. A driver that acts
// when nothing has happened for a while does not act there.

// changeAllTheTime has a session create and delete nodes of a directory, so that it is never
// the same for long, until stop is called.
func (t *Trial) changeAllTheTime(dir string) (stop func()) {
	s, quit := t.Session(), make(chan struct{})
	create := func(i int) (n driver.Node) { // by the plain call: one that lists too is slower
		id, data := fmt.Sprint(i%4), t.someData()
		t.insist(s, "Create "+dir+" "+id, func() (err error) { n, err = s.Create(t.ctx, dir, id, data); return err })
		return n
	}
	changing := t.Go(func() {
		last := create(0)
		for i := 1; !ended(quit) && t.ctx.Err() == nil; i++ {
			n := create(i)
			t.Delete(s, last)
			last = n
			t.sleep(time.Millisecond) // or virtual time would stand still, where calls take none
		}
	})
	return func() {
		close(quit)
		t.join("one of many calls", changing)
	}
}

func waitsInChanging(t *Trial) {
	owner, waiter := t.Session(), t.Session()
	stop := t.changeAllTheTime(dir)
	t.isPrompt("WaitDelete of a node that was deleted in a directory that changes all the time", func() time.Duration {
		n := t.Create(owner, dir, "0")
		w := t.wait(waiter, n)
		t.Delete(owner, n)
		return t.timed(func() { t.returnsNil(w, n, "its deletion in a directory that changes all the time") })
	})
	stop()
}

// listsChanging lists such a directory. A single list may fail for other reasons.
func listsChanging(t *Trial) {
	const lists, tries = 20, 3
	s := t.Session()
	t.Create(s, dir, "0")
	stop := t.changeAllTheTime(dir)
	for who, list := range map[string]func(ctx context.Context) ([]driver.Node, error){
		"Conn.List":    func(ctx context.Context) ([]driver.Node, error) { return t.third().List(ctx, dir) },
		"Session.List": func(ctx context.Context) ([]driver.Node, error) { return t.listOnce(ctx, s, dir) },
	} {
		for range lists {
			_, err := list(t.ctx)
			for try := 1; err != nil && try < tries; try++ {
				_, err = list(t.ctx)
			}
			if t.mustLive(s); err != nil {
				t.Fatalf("%s of a directory that changes all the time failed %d times in a row: %v", who, tries, err)
			}
		}
	}
	stop()
}
