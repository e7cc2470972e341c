package zk

import (
	"hash/maphash"
	"sync"

	gozk "github.com/go-zookeeper/zk"
)

// cache is what a connection remembers of nodes it has read, so that a list
// costs one request and not one for each node.
//
// Names are never used twice, so all that can change about a node is its data.
// Who updates a node counts up the version of the data of its directory, in the
// same transaction, and a list comes with that version. While it stands still,
// so do the data of all nodes.
type cache struct {
	mu   sync.Mutex
	dirs map[string]*directory
}

// The bounds of the memory that a cache takes. What does not fit in costs
// requests.
const (
	mostDirs   = 1024
	mostCached = 4 << 10 // bytes of data of a node
)

// directory is what is remembered of one directory.
type directory struct {
	mu      sync.Mutex
	parent  int64                 // czxid of the directory, which tells it from its predecessors
	version int32                 // of its data, as of which the nodes' data are right
	nodes   map[string]remembered // by the stems of their names
	room    int                   // how many nodes are remembered at most

	most int // bytes of data of a node; more are not remembered

	reads map[string]*reading // under way, by the stems of what they read

	roll roll // has its own lock
}

// remembered is what a name does not tell of a node.
type remembered struct {
	data  []byte
	czxid uint64 // 0 if it is not known
}

func newDirectory(most int) *directory {
	return &directory{
		nodes: make(map[string]remembered),
		reads: make(map[string]*reading),
		room:  spare,
		most:  most,
		roll:  roll{seed: maphash.MakeSeed()},
	}
}

func newCache() *cache { return &cache{dirs: make(map[string]*directory)} }

func (c *cache) directory(dir string) *directory {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.dirs[dir]
	if d == nil {
		if len(c.dirs) >= mostDirs {
			for other := range c.dirs { // any: it costs requests and nothing else
				delete(c.dirs, other)
				break
			}
		}
		d = newDirectory(mostCached)
		c.dirs[dir] = d
	}
	return d
}

// stamp is a state of a directory's data.
type stamp struct {
	parent  int64
	version int32
	mzxid   int64 // of the change that made it
}

func stampOf(stat gozk.Stat) stamp { return stamp{stat.Czxid, stat.Version, stat.Mzxid} }

// recall returns what is remembered of the nodes of a list with the given state,
// in their order, and which of them have to be read. own is known, or nil.
func (d *directory) recall(names []name, at stamp, own *owned) (known []remembered, missing []int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.advance(at)
	known = make([]remembered, len(names))
	for i, n := range names {
		if own != nil && n.stem == own.stem {
			known[i] = own.remembered
			continue
		}
		r, ok := d.remembers(n, at)
		if !ok {
			missing = append(missing, i)
			continue
		}
		known[i] = r
	}
	if d.room = 2*len(names) + spare; len(d.nodes) > d.room {
		d.prune(names)
	}
	return known, missing
}

// remembers returns what is remembered of a node, if that is all there is to know.
// The caller holds the lock.
func (d *directory) remembers(n name, at stamp) (r remembered, ok bool) {
	r, ok = d.nodes[n.stem]
	_, numbered := number(at.parent, n.sequence)
	return r, ok && d.parent == at.parent && (numbered || r.czxid != 0)
}

// advance makes the memory one of the given state, if that is later. A list by
// a server that is behind finds data that are newer than it asks for.
func (d *directory) advance(to stamp) {
	if to.parent > d.parent || to.parent == d.parent && to.version > d.version {
		d.parent, d.version = to.parent, to.version
		clear(d.nodes)
	}
}

// follow is advance for somebody who knows what the directory's data are in that
// state: the name of the node that was updated last, and so the only one if the
// version has gone up by one.
func (d *directory) follow(to stamp, updated string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n, ok := parseName(updated); ok && to.parent == d.parent && to.version == d.version+1 {
		d.version = to.version
		delete(d.nodes, n.stem)
		return
	}
	d.advance(to)
}

// spare is how many nodes more than twice those of a list are remembered: what
// is being created is among them.
const spare = 1024

// prune forgets what is not listed any more.
func (d *directory) prune(names []name) {
	kept := make(map[string]remembered, len(names))
	for _, n := range names {
		if r, ok := d.nodes[n.stem]; ok {
			kept[n.stem] = r
		}
	}
	d.nodes = kept
}

// learn remembers a node whose data are right as of the given state or later, if
// need be instead of another: while nobody recalls, nothing tells what is gone.
func (d *directory) learn(stem string, r remembered, at stamp) {
	if len(r.data) > d.most {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.parent != at.parent || d.version != at.version {
		return
	}
	if _, known := d.nodes[stem]; !known && len(d.nodes) >= d.room {
		for other := range d.nodes { // any: it costs a request and nothing else
			delete(d.nodes, other)
			break
		}
	}
	d.nodes[stem] = r
}

// forget takes note that a node is gone.
func (d *directory) forget(base string) {
	n, _ := parseName(base)
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.nodes, n.stem)
}

// expect remembers a node that is about to be made. Its data are right as of
// now, because nobody can update it before.
func (d *directory) expect(stem string, data []byte) {
	d.mu.Lock()
	at := stamp{parent: d.parent, version: d.version}
	d.mu.Unlock()
	if at.parent != 0 {
		d.learn(stem, remembered{data: data}, at)
	}
}

// updated takes note of an update by this connection, which has brought the
// directory's data to the given version. Without another's in between it has
// changed nothing else.
func (d *directory) updated(stem string, data []byte, at stamp) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.parent != at.parent || d.version != at.version-1 {
		return // the next list finds out
	}
	d.version = at.version
	r, ok := d.nodes[stem]
	if !ok {
		return
	}
	if len(data) > d.most {
		delete(d.nodes, stem)
		return
	}
	r.data = data
	d.nodes[stem] = r
}
