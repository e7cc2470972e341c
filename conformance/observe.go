package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// observing is a watch whose loop runs on a goroutine of its own.
type observing struct {
	cancel context.CancelFunc
	done   <-chan struct{} // closed when the loop has ended

	mu     sync.Mutex
	events []event
	news   chan struct{} // closed with the next event
	over   time.Time     // when the loop ended
}

// event is what the loop's body was given.
type event struct {
	nodes []driver.Node
	err   error
}

// watch calls Watch, which is not yet to do anything.
func (t *Trial) watch(ctx context.Context, c driver.Conn, dir string) iter.Seq2[[]driver.Node, error] {
	f, ok := driver.As[driver.Watcher](c)
	if !ok {
		t.NotOffered("Watch")
	}
	return f.Watch(ctx, dir)
}

// observe watches a directory until ctx ends.
func (t *Trial) observe(ctx context.Context, c driver.Conn, dir string) *observing {
	return t.observeWith(ctx, c, dir, func(int) bool { return true })
}

// observeWith calls body in the loop, with the number of events so far; the
// loop is left when it returns false.
func (t *Trial) observeWith(ctx context.Context, c driver.Conn, dir string, body func(events int) bool) *observing {
	ctx, cancel := context.WithCancel(ctx)
	t.Cleanup(cancel)
	o := t.observeSeq(t.watch(ctx, c, dir), body)
	o.cancel = cancel
	return o
}

// observeSeq is observeWith for what Watch returned.
func (t *Trial) observeSeq(seq iter.Seq2[[]driver.Node, error], body func(events int) bool) *observing {
	o := &observing{news: make(chan struct{})}
	o.done = t.Go(func() {
		for nodes, err := range seq {
			if !body(o.add(event{nodes, err})) {
				break
			}
		}
		o.mu.Lock()
		defer o.mu.Unlock()
		o.over = time.Now()
	})
	return o
}

// slow makes a body that is slow over the first event: until done is closed.
func (t *Trial) slow(done <-chan struct{}) func(events int) bool {
	return func(events int) bool {
		if events == 1 {
			select { // the trial's end bounds what the case does not come to
			case <-done:
			case <-t.ctx.Done():
			}
		}
		return true
	}
}

func (o *observing) add(e event) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.events = append(o.events, e)
	close(o.news)
	o.news = make(chan struct{})
	return len(o.events)
}

// all returns the events so far, and what is closed with the next.
func (o *observing) all() ([]event, <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.events, o.news
}

// states are the states that were shown so far.
func (o *observing) states() (states [][]driver.Node) {
	events, _ := o.all()
	for _, e := range events {
		if e.err == nil {
			states = append(states, e.nodes)
		}
	}
	return states
}

var errNothingShown = errors.New("it has shown nothing")

// awaits waits until the last state that was shown is as look wants it, and
// returns what is wrong with it if it does not become so within d.
func (t *Trial) awaits(o *observing, d time.Duration, look func([]driver.Node) error) error {
	for start := time.Now(); ; {
		over := ended(o.done) // before the look: then there is no more to come
		events, news := o.all()
		err := errNothingShown
		if n := len(events); n > 0 && events[n-1].err != nil {
			return fmt.Errorf("it has ended with %q", events[n-1].err)
		} else if n > 0 {
			err = look(events[n-1].nodes)
		}
		left := d + t.pulse.lag(start) - time.Since(start)
		if err == nil || left < 0 || t.ctx.Err() != nil {
			return err
		}
		if over {
			return fmt.Errorf("%w, and it has ended", err)
		}
		timer := time.NewTimer(left + time.Millisecond)
		select { // whichever comes first, the loop looks at all of them
		case <-news:
		case <-o.done:
		case <-timer.C:
		case <-t.ctx.Done():
		}
		timer.Stop()
	}
}

// begins waits for the first state, in cases that are about something else.
func (t *Trial) begins(o *observing) {
	if err := t.awaits(o, t.patience(), func([]driver.Node) error { return nil }); err != nil {
		t.NotVerified("a watch did not show the directory, which V1 is about: %v", err)
	}
}

// view is what a watch must show: nodes that stand, each as it is, in the order
// of Seq, and none of those that do not.
type view struct {
	t     *Trial
	stand []driver.Node
	not   []driver.Node // gone, or of another directory
}

func (t *Trial) view(stand ...driver.Node) *view { return &view{t: t, stand: stand} }

func (v *view) create(s driver.Session, id string, data ...byte) driver.Node {
	n := v.t.Create(s, dir, id, data...)
	v.stand = append(v.stand, n)
	return n
}

// update expects the node as Create returned it, with other data.
func (v *view) update(s driver.Session, n driver.Node, data ...byte) {
	v.t.Update(s, n, data...)
	for i := range v.stand {
		if v.stand[i].Same(n) {
			v.stand[i].Data = data
		}
	}
}

func (v *view) delete(s driver.Session, n driver.Node) {
	v.t.Delete(s, n)
	v.lose(n)
}

// lose expects the nodes to be gone.
func (v *view) lose(nodes ...driver.Node) {
	var stand []driver.Node
	for _, m := range v.stand {
		if _, ok := find(nodes, m); !ok {
			stand = append(stand, m)
		}
	}
	v.stand = stand
	v.not = append(v.not, nodes...)
}

// look says what is wrong with a state, or returns nil.
func (v *view) look(nodes []driver.Node) error {
	for i := range nodes {
		if i > 0 && nodes[i-1].Seq >= nodes[i].Seq {
			return fmt.Errorf("it shows %s, which is not the order of Seq", show(nodes[i-1:i+1]...))
		}
	}
	for _, n := range v.not {
		if _, ok := find(nodes, n); ok {
			return fmt.Errorf("it shows %s, which is gone or of another directory", show(n))
		}
	}
	for _, n := range v.stand {
		m, ok := find(nodes, n)
		if !ok {
			return fmt.Errorf("it shows %s without %s", show(nodes...), show(n))
		}
		if m.Dir != n.Dir || m.ID != n.ID || m.Session != n.Session || !bytes.Equal(m.Data, n.Data) {
			return fmt.Errorf("it shows %s in %q with %q for %s in %q with %q", show(m), m.Dir, m.Data, show(n), n.Dir, n.Data)
		}
	}
	return nil
}

// shows wants the watch to show the view in the end.
func (v *view) shows(o *observing, after string) {
	if err := v.t.awaits(o, v.t.patience(), v.look); err != nil {
		v.t.Fatalf("a watch does not show the directory after %s: %v", after, err)
	}
}

// works makes a change of each kind and sees it shown, in cases that are about
// something else.
func (v *view) works(o *observing, s driver.Session) {
	n := v.create(s, "works")
	for _, change := range []func(){
		func() {},
		func() { v.update(s, n, []byte("new")...) },
		func() { v.delete(s, n) },
	} {
		change()
		if err := v.t.awaits(o, v.t.patience(), v.look); err != nil {
			v.t.mustLive(s)
			v.t.NotVerified("a watch does not show the directory, which V1 is about: %v", err)
		}
	}
}
