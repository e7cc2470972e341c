package zk

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
)

// tree is one namespace of the store, with what the connection remembers of it.
type tree struct {
	space
	acl []gozk.ACL

	mu   sync.Mutex
	dirs map[string]*directory
}

// directory is what is remembered of a directory, so that a list with data does not cost a
// request for each node. Names are never used twice, so all that can change about a node is
// its data. Update writes to the directory in the same transaction, and a list comes with
// the directory's stat. While its Mzxid stands still, so do the data of all nodes.
type directory struct {
	mu      sync.Mutex
	at      gozk.Stat             // of the directory; the data are as of its Mzxid
	nodes   map[string]remembered // by name
	foreign map[string]bool       // names of what looks like a node and is not
}

// remembered is what a name does not tell of a node.
type remembered struct {
	data  []byte
	czxid int64
}

// The bounds of the memory. What does not fit in costs requests.
const (
	mostDirs   = 1024
	mostNodes  = 4096    // of a directory
	mostCached = 4 << 10 // bytes of data of a node
)

func newTree(s space, acl []gozk.ACL) *tree {
	return &tree{space: s, acl: acl, dirs: make(map[string]*directory)}
}

func (t *tree) directory(dir string) *directory {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.dirs[dir]
	if d == nil {
		if len(t.dirs) >= mostDirs {
			clear(t.dirs)
		}
		d = &directory{nodes: make(map[string]remembered), foreign: make(map[string]bool)}
		t.dirs[dir] = d
	}
	return d
}

// forget drops what is remembered. The store may have been set back to an earlier state.
func (t *tree) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.dirs)
}

// advance makes the memory one of the given state, if that is later. If exactly one update
// lies between the two, and it is known of which node, only that is forgotten.
func (d *directory) advance(to gozk.Stat, updated string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case to.Mzxid <= d.at.Mzxid:
		return
	case updated != "" && to.Czxid == d.at.Czxid && to.Version == d.at.Version+1:
		delete(d.nodes, updated)
	default:
		clear(d.nodes)
	}
	d.at = to
}

// learn remembers a node whose data are right while the directory's Mzxid is at, if the
// memory is of that state.
func (d *directory) learn(base string, r remembered, at int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at != d.at.Mzxid || len(r.data) > mostCached {
		return
	}
	if len(d.nodes) >= mostNodes {
		clear(d.nodes)
	}
	d.nodes[base] = r
}

// mzxid returns the state that the memory is of.
func (d *directory) mzxid() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.at.Mzxid
}

// gone takes note that a node was deleted.
func (d *directory) gone(base string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.nodes, base)
}

// strike takes note that a name is not that of a node, whatever it looks like.
func (d *directory) strike(base string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.foreign[base] = true
}

// listing is a directory as a server lists it.
type listing struct {
	names []string
	stat  gozk.Stat
}

// children reads the names in a directory.
func children(ctx context.Context, l *link, path string) (listing, error) {
	return call(ctx, l, func(c *gozk.Conn) (listing, error) {
		names, stat, err := c.Children(path)
		if err != nil {
			return listing{}, err
		}
		return listing{names, *stat}, nil
	})
}

// saw takes note that what the link reads includes a zxid.
func (l *link) saw(zxid int64) {
	for seen := l.seen.Load(); zxid > seen && !l.seen.CompareAndSwap(seen, zxid); seen = l.seen.Load() {
	}
}

// content is a node as it was read.
type content struct {
	data []byte
	stat gozk.Stat
}

// get reads a node.
func get(ctx context.Context, l *link, path string) (content, error) {
	return call(ctx, l, func(c *gozk.Conn) (content, error) {
		data, stat, err := c.Get(path)
		if err != nil {
			return content{}, err
		}
		return content{data, *stat}, nil
	})
}

// errMoved is a list of which a node was gone, or updated, before it could be read. The
// rest, or with the new data the list, may be a state that never was.
var errMoved = errors.New("the directory changes all the time")

// list lists a directory as one server sees it, with data or, if byName, without.
func (t *tree) list(ctx context.Context, l *link, dir string, byName bool) (nodes []driver.Node, err error) {
	for err = errMoved; err == errMoved && ctx.Err() == nil; {
		var ls listing
		if ls, err = children(ctx, l, t.dir(dir)); err == nil {
			nodes, err = t.nodes(ctx, l, dir, ls, byName, made{})
		}
	}
	if errors.Is(err, gozk.ErrNoNode) {
		return nil, nil
	}
	return nodes, err
}

// made is a node of the session that lists.
type made struct {
	base    string
	listing listing     // of its directory, after the creation; empty if it is not known
	known   *remembered // nil if it was made by an earlier call
}

// nodes makes nodes of a listing, in the order of Seq. own is wanted with its data in any
// case. What is neither in the names nor remembered is read, all at the same time. What is
// not bound to the session that its name tells is no node, which only reading it can tell.
func (t *tree) nodes(ctx context.Context, l *link, dir string, ls listing, byName bool, own made) ([]driver.Node, error) {
	l.saw(ls.stat.Pzxid)
	d := t.directory(dir)
	d.advance(ls.stat, "")
	names, known, missing := d.recall(ls, byName, own)
	read, errs := make([]content, len(names)), make([]error, len(names))
	var reading sync.WaitGroup
	for _, i := range missing {
		reading.Go(func() { read[i], errs[i] = get(ctx, l, t.dir(dir)+"/"+names[i].base) })
	}
	reading.Wait()
	foreign, moved := make(map[int]bool), false
	for _, i := range missing {
		it := read[i]
		switch {
		case errors.Is(errs[i], gozk.ErrNoNode):
			return nil, errMoved
		case errs[i] != nil:
			return nil, errs[i]
		case it.stat.EphemeralOwner != names[i].owner:
			foreign[i] = true
			d.strike(names[i].base)
			continue
		}
		known[i] = remembered{it.data, it.stat.Czxid}
		if it.stat.Version == 0 || it.stat.Mzxid <= ls.stat.Mzxid {
			d.learn(names[i].base, known[i], ls.stat.Mzxid)
		} else {
			moved = true
		}
	}
	if moved { // or an operator has written the data by hand, which does not write to the directory
		now, err := children(ctx, l, t.dir(dir))
		if err != nil && !errors.Is(err, gozk.ErrNoNode) {
			return nil, err
		}
		if now.stat.Mzxid != ls.stat.Mzxid { // 0 if there is no directory any more
			return nil, errMoved
		}
	}
	nodes := make([]driver.Node, 0, len(names))
	for i, n := range names {
		if !foreign[i] {
			nodes = append(nodes, t.node(dir, n, known[i], ls.stat))
		}
	}
	slices.SortFunc(nodes, func(a, b driver.Node) int { return cmp.Compare(a.Seq, b.Seq) })
	return nodes, nil
}

// recall returns the nodes of a listing by their names, what is known of them, and which of
// them have to be read. What is not listed any more is forgotten.
func (d *directory) recall(ls listing, byName bool, own made) (names []name, known []remembered, missing []int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	valid := d.at.Mzxid == ls.stat.Mzxid
	foreign, numbers := make(map[string]bool), make(map[uint64]bool)
	for _, base := range ls.names {
		if d.foreign[base] {
			foreign[base] = true
		} else if n, ok := parseName(base); ok {
			seq, numbered := number(ls.stat.Czxid, n.sequence)
			byName = byName && numbered && !numbers[seq] // else one of two is foreign, or has to be read
			numbers[seq] = true
			names = append(names, n)
		}
	}
	d.foreign = foreign
	for i, n := range names {
		r, there := d.nodes[n.base]
		if there = there && valid; !there {
			r = remembered{}
		}
		if n.base == own.base {
			if there = own.known != nil; there {
				r = *own.known
			}
		}
		_, numbered := number(ls.stat.Czxid, n.sequence)
		if !there && (!byName || n.base == own.base) || !numbered && r.czxid == 0 {
			missing = append(missing, i)
		}
		known = append(known, r)
	}
	return names, known, missing
}

// node makes a node of its name and what the name does not tell.
func (t *tree) node(dir string, n name, r remembered, parent gozk.Stat) driver.Node {
	seq, ok := number(parent.Czxid, n.sequence)
	if !ok {
		seq = uint64(r.czxid)
	}
	return driver.Node{
		Dir: dir, ID: n.id, Key: t.dir(dir) + "/" + n.base, Session: n.session,
		Seq: seq, Token: seq,
		Version: uint64(max(parent.Pzxid, r.czxid)), // Pzxid stands still when the sequence is exhausted
		Data:    r.data,
	}
}
