package zk

import (
	"context"
	"errors"
	"slices"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
)

// listing is a directory as a server lists it.
type listing struct {
	names []string
	stat  gozk.Stat
	err   error

	shared bool // the names are parts of one string, which who keeps one does not want to keep
}

func children(c *gozk.Conn, path string) listing {
	names, stat, err := c.Children(path)
	if err != nil {
		return listing{err: err}
	}
	return listing{names: names, stat: *stat}
}

// children makes one attempt to read the names in a directory, by the library:
// where somebody looks at it, the request sets a watch (see sights).
func (l *link) children(ctx context.Context, o op, path string) (listing, error) {
	return call(ctx, l, o, func(lib *gozk.Conn) (listing, error) {
		ls := children(lib, path)
		return ls, ls.err
	})
}

// names makes one attempt to read the names in a directory.
func (l *link) names(ctx context.Context, o op, path string) (listing, error) {
	answers, on, err := l.exchangeAll(ctx, o, request(opGetChildren2, path, false))
	if err != nil {
		return listing{}, err
	}
	return l.listingOf(ctx, o, on, answers[0])
}

// listingOf reads the answer to a request for names.
func (l *link) listingOf(ctx context.Context, o op, on *wire, a answer) (listing, error) {
	if err := l.judge(ctx, o, on, a); err != nil {
		return listing{}, err
	}
	ls, ok := readListing(a.body)
	if !ok {
		return ls, failed(o, driver.ErrUnavailable, errStranger)
	}
	return ls, nil
}

// readListing reads the answer to a request for names: how many there are, each
// with its length, and the directory's stat.
func readListing(body []byte) (listing, bool) {
	r := reader{rest: string(body)} // of which the names are parts
	ls := listing{shared: true}
	ls.names = make([]string, max(min(int(r.int32()), len(body)/4), 0))
	for i := range ls.names {
		ls.names[i] = r.part(r.int32())
	}
	ls.stat = gozk.Stat{
		Czxid: r.int64(), Mzxid: r.int64(), Ctime: r.int64(), Mtime: r.int64(),
		Version: r.int32(), Cversion: r.int32(), Aversion: r.int32(),
		EphemeralOwner: r.int64(), DataLength: r.int32(), NumChildren: r.int32(),
		Pzxid: r.int64(),
	}
	return ls, !r.short && r.rest == ""
}

// list lists a directory as one server sees it, with data or, if byName, without.
func (c *conn) list(ctx context.Context, l *link, o op, dir string, byName bool) (nodes []driver.Node, err error) {
	err = settled(o, func() error {
		var ls listing
		if path := c.dir(dir); byName {
			ls, err = l.names(ctx, o, path)
		} else {
			ls, err = l.children(ctx, o, path)
		}
		if err == nil {
			nodes, err = c.line(ctx, l, o, dir, ls, nil, byName)
		}
		return err
	})
	if errors.Is(err, gozk.ErrNoNode) {
		return nil, nil
	}
	return nodes, err
}

// errMoved is a list of which a node was gone, or updated, before it could be read.
// Without it the rest, or with the new data the list, would be a state that never was:
// what was created in the meantime is not in it.
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

// line makes nodes of a listing, in the order of Seq. own is known, or nil.
func (c *conn) line(ctx context.Context, l *link, o op, dir string, ls listing, own *owned, byName bool) ([]driver.Node, error) {
	d := c.cache.directory(dir)
	if byName {
		if nodes, ok := d.roll.call(c, dir, ls); ok {
			l.saw(uint64(ls.stat.Pzxid))
			return nodes, nil
		}
	}
	return c.nodes(ctx, l, o, dir, d, ls, own)
}

// owned is a node of which all is known.
type owned struct {
	stem string
	remembered
}

// nodes makes nodes of a listing, in the order of Seq, with their data. What is
// not remembered of them is read; own is known, or nil. If one is gone by then, or was
// updated, the error is errMoved.
func (c *conn) nodes(ctx context.Context, l *link, o op, dir string, d *directory, ls listing, own *owned) ([]driver.Node, error) {
	l.saw(uint64(ls.stat.Pzxid))
	at := stampOf(ls.stat)
	names, bases := d.roll.parse(ls)
	known, missing := d.recall(names, at, own)
	foreign := make(map[int]bool)
	newer := false
	if len(missing) > 0 {
		asked := make([]string, len(missing))
		for k, i := range missing {
			asked[k] = bases[i]
		}
		found, err := d.gather(ctx, l, o, c.dir(dir), at, asked)
		if err != nil {
			return nil, err
		}
		for _, i := range missing {
			it := found[bases[i]]
			if it.err != nil {
				return nil, errMoved
			}
			known[i], foreign[i] = it.remember(), !it.belongs(names[i])
			newer = newer || it.newer(at)
		}
	}
	if newer {
		if err := c.stands(ctx, l, o, dir, at); err != nil {
			return nil, err
		}
	}
	nodes := make([]driver.Node, 0, len(known))
	for i, r := range known {
		if !foreign[i] {
			nodes = append(nodes, c.asNode(dir, bases[i], names[i], r, ls.stat))
		}
	}
	slices.SortFunc(nodes, bySeq)
	return nodes, nil
}

// stands returns errMoved if the data of the directory's nodes have changed since a state.
// If they have not, somebody has written a node's data by hand.
func (c *conn) stands(ctx context.Context, l *link, o op, dir string, at stamp) error {
	if err := agree(ctx, l, o); err != nil { // what another link has read, this one's server may not know
		return err
	}
	now, err := call(ctx, l, o, func(lib *gozk.Conn) (stamp, error) {
		_, stat, err := lib.Exists(c.dir(dir))
		if err != nil {
			return stamp{}, err
		}
		return stampOf(*stat), nil
	})
	if err == nil && now != at {
		err = errMoved
	}
	return err
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

// remember returns what is worth it.
func (it content) remember() remembered {
	return remembered{data: it.data, czxid: uint64(it.stat.Czxid)}
}

// newer reports whether it was updated after the directory was in a state.
func (it content) newer(at stamp) bool { return it.stat.Version > 0 && it.stat.Mzxid > at.mzxid }

// belongs reports whether it is the node that its name tells: bound to the
// session. What is not is foreign, see roll.
func (it content) belongs(n name) bool { return it.stat.EphemeralOwner == n.owner }

func get(lib *gozk.Conn, path string) content {
	data, stat, err := lib.Get(path)
	if err != nil {
		return content{err: err}
	}
	return content{data: data, stat: *stat}
}
