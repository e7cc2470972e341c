package zk

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
)

// When all join at once, in many programs, and want the data of all, each
// program reads each node once, and not once for each who joins.
func TestStormReadsOnce(t *testing.T) {
	const programs, each = 10, 40
	f := start(t)
	f.create(f.open(long), "d", "bystander")
	var peers []*fixture
	var sessions []*session
	for range programs {
		p := f.peer()
		peers, sessions = append(peers, p), append(sessions, p.open(long))
	}
	var before []sent
	for _, p := range peers {
		before = append(before, p.tap.sent())
	}
	var joining sync.WaitGroup
	for _, s := range sessions {
		for i := range each {
			joining.Go(func() {
				data := fmt.Sprint(s.ID(), " ", i)
				n, all, err := s.CreateList(within(t), "d", fmt.Sprint(i), []byte(data))
				if err != nil {
					t.Error(err)
					return
				}
				for _, m := range all {
					if want := fmt.Sprint(m.Session, " ", m.ID); m.ID != "bystander" && string(m.Data) != want {
						t.Errorf("%s is listed with %q; want %q", m.Key, m.Data, want)
					}
					if m.Same(n) && string(m.Data) != data {
						t.Errorf("made with %q, listed with %q", data, m.Data)
					}
				}
			})
		}
	}
	joining.Wait()
	for i, p := range peers {
		got := p.tap.sent()
		for k, n := range before[i] {
			got[k] -= n
		}
		others := (programs-1)*each + 1
		// What is made before the directory was listed is not known to be our own.
		if got["multi"] != each || got["children"] > 2*each || got["get"] > others+each {
			t.Errorf("program %d sent %v, for %d nodes of its own and %d of others", i, got, each, others)
		}
	}
}

// gathering has what is missing of a directory gathered.
func (f *fixture) gathering(ctx context.Context, d *directory, s *session, n driver.Node) <-chan error {
	done := make(chan error, 1)
	_, base := cut(n.Key)
	go func() {
		found, err := d.gather(ctx, s.link, s.op("list", "d"), f.dir("d"), stamp{1, 1, 0}, []string{base})
		if it := found[base]; err == nil && (it.err != nil || string(it.data) != n.ID) {
			err = fmt.Errorf("found %+v", it)
		}
		done <- err
	}()
	return done
}

// A reading that comes to nothing is made by somebody else who needs it.
func TestReadingThatFails(t *testing.T) {
	f := start(t)
	s, o := f.open(long), f.open(long)
	n := f.create(s, "d", "0")
	d := newDirectory(mostCached)
	_, base := cut(n.Key)
	pending := func(l *link) *reading {
		r, _ := d.share(l, stamp{1, 1, 0}, []string{base}, make(map[string]content))
		return r
	}
	end := func(r *reading, err error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		r.err = err
		delete(d.reads, base)
		close(r.done)
	}

	r := pending(s.link)
	waits := []<-chan error{f.gathering(within(t), d, s, n), f.gathering(within(t), d, o, n)}
	end(r, context.Canceled) // of whoever was at it
	for _, w := range waits {
		must(t, receive(t, "what another has given up", w))
	}

	// The link of another may be to a server that does not answer.
	r = pending(o.link)
	must(t, receive(t, "what stands still", f.gathering(within(t), d, s, n)))
	end(r, nil)

	r = pending(s.link)
	ctx, cancel := context.WithCancel(within(t))
	w := f.gathering(ctx, d, s, n)
	pendingStill(t, w)
	cancel()
	wantIs(t, receive(t, "a list that is given up", w), context.Canceled)
	end(r, nil)
	r = pending(s.link)
	r.err = failed(op{name: "list"}, driver.ErrDenied, nil)
	close(r.done) // and is not forgotten yet
	wantIs(t, receive(t, "what is denied", f.gathering(within(t), d, s, n)), driver.ErrDenied)
	delete(d.reads, base)

	// What was read before an update is of no use after it.
	r, _ = d.share(s.link, stamp{1, 0, 0}, []string{base}, make(map[string]content))
	must(t, receive(t, "what is newer", f.gathering(within(t), d, s, n)))
	end(r, nil)

	r = pending(o.link)
	w = f.gathering(within(t), d, o, n)
	must(t, o.Close(within(t)))
	wantIs(t, receive(t, "a list whose session is over", w), driver.ErrClosed)
	end(r, nil)
}
