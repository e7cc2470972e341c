package zk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

// directory is what a connection remembers of a directory, so that a list with data does not
// cost a request for each node. Update writes to the directory in the same transaction, and a
// list comes with the directory's stat: while its Mzxid stands still, so do the data of all
// nodes, whose names are never used twice.
type directory struct {
	mu      sync.Mutex
	at      gozk.Stat          // of the directory; the data are as of its Mzxid
	nodes   map[string]content // by name
	foreign map[string]bool    // names of keys that look like nodes and are none
	only    string             // the node that was listed without any other
	empty   bool               // that node was deleted
}

// content is a node as it was read.
type content struct {
	data []byte
	stat gozk.Stat // zero if the driver has not read the node, but written it
}

// The bounds of the memory. What does not fit in costs requests.
const (
	mostDirs   = 1024
	mostNodes  = 4096    // of a directory
	mostCached = 4 << 10 // bytes of data of a node
)

func (t *tree) directory(dir string) *directory {
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.dirs[dir]
	if d == nil {
		if len(t.dirs) >= mostDirs {
			clear(t.dirs)
		}
		d = &directory{nodes: make(map[string]content), foreign: make(map[string]bool)}
		t.dirs[dir] = d
	}
	return d
}

// advance makes the memory one of the given state, if that is later or of another directory
// of that name. If only the update of a known node lies between, only that is forgotten.
func (d *directory) advance(to gozk.Stat, updated string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case to.Czxid != d.at.Czxid:
		clear(d.nodes)
	case to.Mzxid <= d.at.Mzxid:
		return
	case updated != "" && to.Version == d.at.Version+1:
		delete(d.nodes, updated)
	default:
		clear(d.nodes)
	}
	d.at = to
}

// learn remembers a node as of the directory's Mzxid at; 0: nobody has updated the node yet.
func (d *directory) learn(base string, c content, at int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at != 0 && at != d.at.Mzxid || len(c.data) > mostCached {
		return
	}
	if len(d.nodes) >= mostNodes {
		clear(d.nodes)
	}
	d.nodes[base] = c
}

// removed takes note that a node was deleted.
func (d *directory) removed(base string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.nodes, base)
	if base == d.only {
		d.only, d.empty = "", true
	}
}

// takeEmpty reports, once, whether the directory is likely to be empty.
func (d *directory) takeEmpty() (likely bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	likely, d.empty = d.empty, false
	return likely
}

// isNode reports whether a key that looks like a node is bound to the session that its name
// tells. If not, it is not listed any more.
func (t *tree) isNode(dir, base string, stat gozk.Stat) bool {
	if n, ok := parseName(base); ok && n.owner == stat.EphemeralOwner {
		return true
	}
	d := t.directory(dir)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.foreign[base] = true
	return false
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
		ls := listing{names, *cmp.Or(stat, new(gozk.Stat))}
		l.saw(ls.stat.Pzxid)
		return ls, err
	})
}

// get reads a node, or the data of a directory.
func get(ctx context.Context, l *link, path string) (content, error) {
	return call(ctx, l, func(c *gozk.Conn) (content, error) {
		data, stat, err := c.Get(path)
		return content{data, *cmp.Or(stat, new(gozk.Stat))}, err
	})
}

// errForeign is a key that looks like a node and is none. It Is ErrNoNode.
var errForeign = fmt.Errorf("key of another client: %w", gozk.ErrNoNode)

// read reads a node.
func (t *tree) read(ctx context.Context, l *link, dir, base string) (content, error) {
	c, err := get(ctx, l, t.dir(dir)+"/"+base)
	if err == nil && !t.isNode(dir, base, c.stat) {
		err = errForeign
	}
	return c, err
}

// errChanged is a list of which a node was gone, or updated, before it could be read.
var errChanged = errors.New("the directory changes all the time")

// list lists a directory, with data unless byName. It begins with ls, unless that is empty.
func (t *tree) list(ctx context.Context, l *link, dir string, byName bool, ls listing) (nodes []driver.Node, err error) {
	for again := true; again; again = err == errChanged && ctx.Err() == nil {
		if err = nil; ls.names == nil {
			ls, err = children(ctx, l, t.dir(dir))
		}
		if err == nil {
			nodes, err = t.nodes(ctx, l, dir, ls, byName)
		}
		ls.names = nil
	}
	if errors.Is(err, gozk.ErrNoNode) {
		return nil, nil
	}
	return nodes, err
}

// entry is a name of a listing, with what is known of the node.
type entry struct {
	name
	content
	seq    uint64 // 0 if the name does not tell
	unread bool   // the node has to be read
	err    error  // of reading it
}

// nodes makes nodes of a listing, in the order of Seq. It reads what it does not know.
func (t *tree) nodes(ctx context.Context, l *link, dir string, ls listing, byName bool) ([]driver.Node, error) {
	d := t.directory(dir)
	d.advance(ls.stat, "")
	entries := d.recall(ls, byName)
	var reading sync.WaitGroup
	for i := range entries {
		if e := &entries[i]; e.unread {
			reading.Go(func() { e.content, e.err = t.read(ctx, l, dir, e.base) })
		}
	}
	reading.Wait()
	nodes, moved := make([]driver.Node, 0, len(entries)), false
	for _, e := range entries {
		switch {
		case e.err == errForeign:
			continue
		case errors.Is(e.err, gozk.ErrNoNode):
			return nil, errChanged
		case e.err != nil:
			return nil, e.err
		case !e.unread:
		case e.stat.Version == 0 || e.stat.Mzxid <= ls.stat.Mzxid:
			d.learn(e.base, e.content, ls.stat.Mzxid)
		default:
			moved = true
		}
		seq := cmp.Or(e.seq, uint64(e.stat.Czxid))
		nodes = append(nodes, driver.Node{
			Dir: dir, ID: e.id, Key: t.dir(dir) + "/" + e.base, Session: e.session, Seq: seq, Token: seq,
			Version: uint64(max(ls.stat.Pzxid, e.stat.Czxid)), // Pzxid stands still when the sequence is exhausted
			Data:    e.data,
		})
	}
	if moved { // or an operator has written the data by hand, which does not write to the directory
		now, err := children(ctx, l, t.dir(dir))
		if err != nil && !errors.Is(err, gozk.ErrNoNode) {
			return nil, err
		}
		if now.stat.Mzxid != ls.stat.Mzxid { // 0 if there is no directory any more
			return nil, errChanged
		}
	}
	slices.SortFunc(nodes, func(a, b driver.Node) int { return cmp.Compare(a.Seq, b.Seq) })
	return nodes, nil
}

// recall returns the nodes of a listing, what is known of them, and which have to be read.
func (d *directory) recall(ls listing, byName bool) (entries []entry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	foreign, numbers := make(map[string]bool), make(map[uint64]bool)
	for _, base := range ls.names {
		if d.foreign[base] {
			foreign[base] = true
		} else if n, ok := parseName(base); ok {
			seq, numbered := number(ls.stat.Czxid, n.sequence)
			byName = byName && numbered && !numbers[seq] // else one of two is foreign, or has to be read
			numbers[seq] = true
			entries = append(entries, entry{name: n, seq: seq})
		}
	}
	d.foreign = foreign // without those that are not listed any more
	for i := range entries {
		e, known := &entries[i], false
		if d.at.Mzxid == ls.stat.Mzxid {
			e.content, known = d.nodes[e.base]
		}
		e.unread = !known && !byName || e.seq == 0 && e.stat.Czxid == 0
	}
	if len(entries) > 0 {
		d.only = ""
	}
	if len(entries) == 1 {
		d.only = entries[0].base
	}
	return entries
}
