package coord

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord/driver"
)

// hubs are a client's watches: one for each directory that is observed.
type hubs struct {
	watch   func(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error]
	log     *zap.Logger
	running sync.WaitGroup // a goroutine for each hub

	mu     sync.Mutex
	closed bool
	all    map[string]*hub
}

// hub hands what one watch of the driver shows to all who observe a directory.
// The lock of hubs guards it.
//
// An observer that joins a running hub must not be shown what is older than the
// call that it makes, and a running watch may lag behind by any amount. A list
// made for the newcomer would be fresh, but nothing says where it stands among
// what the watch has yet to show: a node that is in one and not in the other was
// created or deleted in between, and states carry no number that would tell.
// So the watch is ended, and the next is begun only when that one is over: its
// first state is as fresh as a list (rule V1), hence not older than what was
// acknowledged before it began, to the newcomer or to anybody, nor than what the
// watch before it has shown; and what follows is never older than that (V2). To
// those who were there before, the change of the watch does not show.
//
// A watch is ended only after it has shown its first state. Whoever joins
// meanwhile waits for the next, together with all others who do. So no number
// of newcomers keeps a state from being shown, and the store has one request of
// them at a time.
type hub struct {
	dir       string
	observers int
	joined    uint64             // how many observers have ever joined
	began     uint64             // joined, when the running watch began
	fresh     uint64             // joined, when the watch began that state is of
	end       context.CancelFunc // ends the running watch; nil before the first

	state   []driver.Node // the latest
	number  uint64        // of state, counted from 1
	err     error         // why the hub has ended
	changed chan struct{} // closed and replaced when state, fresh or err change
}

func newHubs(conn driver.Conn, log *zap.Logger) *hubs {
	s := &hubs{log: log, all: make(map[string]*hub)}
	if w, ok := driver.As[driver.Watcher](conn); ok {
		s.watch = w.Watch
	} else {
		s.watch = poller{conn, log}.watch
	}
	return s
}

// join makes an observer of dir.
func (s *hubs) join(ctx context.Context, dir string) (*observer, error) {
	if ctx.Err() != nil {
		return nil, watchError(dir, nil, driver.ContextError(ctx))
	}
	if !driver.ValidDir(dir) {
		return nil, watchError("", ErrInvalid, fmt.Errorf("%.40q is not a directory's name; see Dir", dir))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, watchError(dir, ErrClosed, nil)
	}
	h := s.all[dir]
	if h == nil {
		h = &hub{dir: dir, changed: make(chan struct{})}
		s.all[dir] = h
		s.running.Go(func() { s.run(h) })
	}
	h.observers++
	h.joined++
	if h.fresh == h.began {
		h.stop() // the running watch has shown what it began with
	}
	return &observer{hubs: s, hub: h, ticket: h.joined}, nil
}

// run watches one directory, with one watch at a time, until nobody observes it.
func (s *hubs) run(h *hub) {
	for ctx := s.begin(h); ctx != nil; ctx = s.begin(h) {
		err := s.show(ctx, h)
		ended := ctx.Err() != nil
		h.end()
		// What an ended watch says is the echo of its ending. If it is more than
		// that, the next will say so too.
		if err != nil && !ended {
			s.fail(h, err)
		}
	}
}

// begin returns a ctx for the next watch, or nil if there is to be none.
func (s *hubs) begin(h *hub) context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.err != nil {
		return nil
	}
	if h.observers == 0 {
		// Only now: whoever joined until here is served by this hub, so that no
		// two watches of a directory run at a time.
		delete(s.all, h.dir)
		return nil
	}
	// The watch is everybody's, and no observer's ctx bounds it.
	var ctx context.Context
	ctx, h.end = context.WithCancel(context.Background())
	h.began = h.joined
	return ctx
}

// show shows what one watch yields until it ends or is to be ended.
func (s *hubs) show(ctx context.Context, h *hub) error {
	for nodes, err := range s.watch(ctx, h.dir) {
		if err != nil {
			return err
		}
		if !s.publish(h, nodes) {
			return nil
		}
	}
	if ctx.Err() != nil {
		return nil
	}
	return watchError(h.dir, nil, errors.New("the driver ended the watch and did not say why"))
}

// publish makes nodes the state that is shown. It reports false if the watch is
// to be ended.
func (s *hubs) publish(h *hub, nodes []driver.Node) bool {
	// A watch that was begun anew shows what is known already. Only this
	// goroutine writes to state, so it may read it without the lock.
	same := h.number > 0 && slices.EqualFunc(h.state, nodes, unchanged)
	s.mu.Lock()
	defer s.mu.Unlock()
	if same && h.fresh == h.began {
		return h.wanted()
	}
	if !same {
		h.state = nodes
		h.number++
	}
	h.fresh = h.began
	h.tell()
	return h.wanted()
}

// wanted reports whether the running watch, which has shown its first state, has
// to go on.
func (h *hub) wanted() bool { return h.observers > 0 && h.joined == h.began && h.err == nil }

// unchanged reports whether two nodes are the same with the same data.
func unchanged(a, b driver.Node) bool { return a.Same(b) && bytes.Equal(a.Data, b.Data) }

// tell wakes every observer.
func (h *hub) tell() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// stop ends the running watch, if there is one. What follows is up to run.
func (h *hub) stop() {
	if h.end != nil {
		h.end()
	}
}

// fail ends a hub because its watch has ended. The error reaches everybody who
// observes, and whoever comes later begins anew.
func (s *hubs) fail(h *hub, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	h.fail(err)
	delete(s.all, h.dir)
	s.log.Debug("a watch has ended", zap.String("dir", h.dir), zap.Error(err))
}

func (h *hub) fail(err error) {
	if h.err == nil {
		h.err = err
		h.tell()
	}
}

// close ends every hub with ErrClosed, and lets none be made any more. The
// goroutines end soon after; running is to be waited for.
func (s *hubs) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, h := range s.all {
		h.fail(watchError(h.dir, ErrClosed, nil))
		h.stop()
	}
}
