package zk

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
)

// reading is nodes of a directory that are being read, by one who lists it, for
// all who need them: when many join a line at once, each finds most of the
// others new.
type reading struct {
	link  *link
	at    stamp // the state of the directory which what is read is not behind
	names []string
	steps atomic.Int64  // grows while it gets on
	done  chan struct{} // closed at its end

	stalled bool // nobody is to wait for it any more; the directory's lock guards it

	// Once done is closed:
	found map[string]content // by name
	err   error
}

// patient is how long a reading by another link may stand still. If the other's
// server does not answer, it should not take much time of this one's.
const patient = 100 * time.Millisecond

// gather reads those of the named nodes that nobody else is reading, and waits
// for the others, in the time that one request may take. They may be gone.
func (d *directory) gather(ctx context.Context, l *link, o op, path string, at stamp, names []string) (map[string]content, error) {
	limit := time.NewTimer(o.limit)
	defer limit.Stop()
	found := make(map[string]content, len(names))
	for {
		own, others := d.share(l, at, names, found)
		if len(own.names) > 0 {
			d.run(ctx, own, o, path)
			if own.err != nil {
				return nil, own.err
			}
			own.give(found)
		}
		for _, r := range others {
			if err := d.await(ctx, l, o, r, limit.C); err != nil {
				return nil, err
			}
			r.give(found)
		}
		if len(others) == 0 {
			return found, nil
		}
	}
}

// share finds what was read in the meantime, and divides the rest into what the
// caller has to read, and what others are reading.
func (d *directory) share(l *link, at stamp, names []string, found map[string]content) (own *reading, others []*reading) {
	d.mu.Lock()
	defer d.mu.Unlock()
	own = &reading{link: l, at: at, done: make(chan struct{})}
	known := make(map[*reading]bool)
	for _, n := range names {
		if _, ok := found[n]; ok {
			continue
		}
		if it, ok := d.readSince(n, at); ok {
			found[n] = it
			continue
		}
		r := d.reads[n]
		if r == nil || r.stalled || r.at.parent != at.parent || r.at.version < at.version {
			own.names = append(own.names, n)
			d.reads[n] = own
		} else if !known[r] {
			known[r] = true
			others = append(others, r)
		}
	}
	return own, others
}

// readSince returns a node as it was read by another since it was missed. The
// caller holds the lock.
func (d *directory) readSince(base string, at stamp) (it content, ok bool) {
	n, _ := parseName(base)
	r, ok := d.remembers(n, at)
	if ok {
		it.data, it.stat.Czxid, it.stat.EphemeralOwner = r.data, int64(r.czxid), n.owner
	}
	return it, ok
}

// run reads. It is told to all when it has ended.
func (d *directory) run(ctx context.Context, r *reading, o op, path string) {
	r.found, r.err = d.read(ctx, r, o, path)
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, n := range r.names {
		if d.reads[n] == r {
			delete(d.reads, n)
		}
	}
	close(r.done)
}

// give adds what was read, if the reading has ended.
func (r *reading) give(found map[string]content) {
	select {
	case <-r.done:
		maps.Copy(found, r.found)
	default: // it stands still
	}
}

// await waits until a reading has ended, or stands still for too long.
func (d *directory) await(ctx context.Context, l *link, o op, r *reading, limit <-chan time.Time) error {
	var look <-chan time.Time // a link that is our own is as good as any that we had
	if r.link != l {
		ticker := time.NewTicker(patient)
		defer ticker.Stop()
		look = ticker.C
	}
	for steps := r.steps.Load(); ; {
		// What has ended while something else is ready is asked for again.
		select {
		case <-r.done:
			if errors.Is(r.err, driver.ErrDenied) { // as we would be
				return r.err
			}
			return nil
		case <-look:
			if now := r.steps.Load(); now != steps {
				steps = now
				continue
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			r.stalled = true
			return nil
		case <-l.over:
			return l.ended()
		case <-ctx.Done():
			return failed(o, nil, driver.ContextError(ctx))
		case <-limit:
			return failed(o, driver.ErrUnavailable, fmt.Errorf("no answer within %v", o.limit))
		}
	}
}

// readers is how many nodes are read at a time: enough to keep the connection
// busy.
const readers = 32

// read reads nodes and remembers them, each as soon as it is read: those who try
// again after a failure have less to read.
func (d *directory) read(ctx context.Context, r *reading, o op, path string) (map[string]content, error) {
	return call(ctx, r.link, o, func(lib *gozk.Conn) (map[string]content, error) {
		read := make([]content, len(r.names))
		next := make(chan int)
		var working sync.WaitGroup
		for range min(readers, len(r.names)) {
			working.Go(func() {
				for i := range next {
					read[i] = get(lib, path+"/"+r.names[i])
					d.note(r.names[i], read[i], r.at)
					r.steps.Add(1)
				}
			})
		}
		for i := range r.names {
			next <- i
		}
		close(next)
		working.Wait()
		found := make(map[string]content, len(read))
		for i, it := range read {
			if it.err != nil && !errors.Is(it.err, gozk.ErrNoNode) {
				return nil, it.err
			}
			found[r.names[i]] = it
		}
		return found, nil
	})
}

// note remembers what was read.
func (d *directory) note(base string, it content, at stamp) {
	n, ok := parseName(base)
	switch {
	case !ok || it.err != nil || it.newer(at):
	case it.belongs(n):
		d.learn(n.stem, it.remember(), at)
	default:
		d.roll.strike(base)
	}
}
