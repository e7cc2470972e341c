package zk

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
)

// listing is a directory as a server lists it.
type listing struct {
	names []string
	stat  gozk.Stat
	err   error
}

func children(c *gozk.Conn, path string) listing {
	names, stat, err := c.Children(path)
	if err != nil {
		return listing{err: err}
	}
	return listing{names: names, stat: *stat}
}

// list lists a directory as one server sees it.
func (c *conn) list(ctx context.Context, l *link, o op, dir string) (nodes []driver.Node, err error) {
	err = settled(o, func() error {
		ls, err := call(ctx, l, o, func(lib *gozk.Conn) (listing, error) {
			ls := children(lib, c.dir(dir))
			return ls, ls.err
		})
		if err == nil {
			nodes, err = c.nodes(ctx, l, o, dir, c.cache.directory(dir), ls, nil)
		}
		return err
	})
	if errors.Is(err, gozk.ErrNoNode) {
		return nil, nil
	}
	return nodes, err
}

// errMoved is a list of which a node was gone before it could be read. Without it
// the rest would be a state that never was: what took the node's place in the
// meantime is not in the list.
var errMoved = errors.New("the directory changes all the time")

// settled lists again until what was listed was still there to be read.
func settled(o op, list func() error) error {
	for start := time.Now(); ; {
		err := list()
		if err != errMoved {
			return err
		}
		if time.Since(start) > o.limit {
			return failed(o, driver.ErrUnavailable, err)
		}
	}
}

// owned is a node of which all is known.
type owned struct {
	stem string
	remembered
}

// nodes makes nodes of a listing, in the order of Seq. What is not remembered of
// them is read, all at once; own is known, or nil. If one is gone by then, the
// error is errMoved.
func (c *conn) nodes(ctx context.Context, l *link, o op, dir string, d *directory, ls listing, own *owned) ([]driver.Node, error) {
	l.saw(uint64(ls.stat.Pzxid))
	at := stampOf(ls.stat)
	names := make([]name, 0, len(ls.names))
	bases := make([]string, 0, len(ls.names))
	for _, base := range ls.names {
		if n, ok := parseName(base); ok {
			names, bases = append(names, n), append(bases, base)
		}
	}
	known, missing := d.recall(names, at, own)
	if len(missing) > 0 {
		release := d.enter(ctx)
		defer release()
		if known, missing = d.recall(names, at, own); len(missing) > 0 {
			found, err := read(ctx, l, o, c.dir(dir), bases, missing)
			if err != nil {
				return nil, err
			}
			gone := false
			for k, i := range missing {
				known[i] = found[k].remember(names[i])
				if found[k].err == nil {
					d.learn(names[i].stem, known[i], at)
				} else {
					gone = true
				}
			}
			if gone {
				return nil, errMoved
			}
		}
	}
	nodes := make([]driver.Node, 0, len(known))
	for i, r := range known {
		if !r.foreign {
			nodes = append(nodes, c.asNode(dir, bases[i], names[i], r, ls.stat))
		}
	}
	slices.SortFunc(nodes, func(a, b driver.Node) int { return cmp.Compare(a.Seq, b.Seq) })
	return nodes, nil
}

// patient is how long a list waits for another one to read what is new. If the
// other's server does not answer, it should not take much time of this one's.
const patient = 100 * time.Millisecond

// enter waits until nobody else reads nodes of the directory, or not much
// longer.
func (d *directory) enter(ctx context.Context) (release func()) {
	timer := time.NewTimer(patient)
	defer timer.Stop()
	// If more than one is ready, any will do: it is a matter of costs.
	select {
	case d.reading <- struct{}{}:
		return func() { <-d.reading }
	case <-timer.C:
	case <-ctx.Done():
	}
	return func() {}
}

// asNode makes a node of its name and what the name does not tell.
func (c *conn) asNode(dir, base string, n name, r remembered, parent gozk.Stat) driver.Node {
	number, ok := number(parent.Czxid, n.sequence)
	if !ok {
		number = r.czxid
	}
	return driver.Node{
		Dir:     dir,
		ID:      n.id,
		Key:     c.dir(dir) + "/" + base,
		Session: n.session,
		Seq:     number,
		Token:   number,
		// The zxid of the last change among the directory's children, unless its
		// sequence is exhausted: then it stands still.
		Version: max(uint64(parent.Pzxid), r.czxid),
		Data:    r.data,
	}
}

// content is a node as it was read.
type content struct {
	data []byte
	stat gozk.Stat
	err  error
}

// remember returns what is worth it. It is no node unless it is bound to the
// session that its name tells: what somebody else put there under such a name
// would outlive the session, and is not the session's.
func (it content) remember(n name) remembered {
	return remembered{
		data:    it.data,
		czxid:   uint64(it.stat.Czxid),
		foreign: it.err != nil || it.stat.EphemeralOwner != n.owner,
	}
}

func get(lib *gozk.Conn, path string) content {
	data, stat, err := lib.Get(path)
	if err != nil {
		return content{err: err}
	}
	return content{data: data, stat: *stat}
}

// readers is how many nodes are read at a time: enough to keep the connection
// busy.
const readers = 32

// read reads some of the named nodes of a directory. They may be gone.
func read(ctx context.Context, l *link, o op, path string, names []string, which []int) ([]content, error) {
	return call(ctx, l, o, func(lib *gozk.Conn) ([]content, error) {
		found := make([]content, len(which))
		next := make(chan int)
		var working sync.WaitGroup
		for range min(readers, len(which)) {
			working.Go(func() {
				for k := range next {
					found[k] = get(lib, path+"/"+names[which[k]])
				}
			})
		}
		for k := range which {
			next <- k
		}
		close(next)
		working.Wait()
		for _, f := range found {
			if f.err != nil && !errors.Is(f.err, gozk.ErrNoNode) {
				return nil, f.err
			}
		}
		return found, nil
	})
}
