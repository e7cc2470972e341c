package zk

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
)

// Create implements driver.Session. The number of a node depends on its directory, so it
// costs what CreateList costs.
func (s *session) Create(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
	n, _, err := s.create(ctx, dir, id, data)
	return n, err
}

// CreateList implements driver.CreateLister. The list leaves out data, which would be a
// request for each node.
func (s *session) CreateList(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
	return s.create(ctx, dir, id, data)
}

// List implements driver.Session. A server that carries the session has all that the
// session was told of, and what preceded it (L3).
func (s *session) List(ctx context.Context, dir string) ([]driver.Node, error) {
	return s.list(ctx, dir, false)
}

// ListNames implements driver.NameLister.
func (s *session) ListNames(ctx context.Context, dir string) ([]driver.Node, error) {
	return s.list(ctx, dir, true)
}

func (s *session) list(ctx context.Context, dir string, byName bool) ([]driver.Node, error) {
	return do(ctx, s, s.Read("list", dir), func(ctx context.Context, l *link) ([]driver.Node, error) {
		return s.tree.list(ctx, l, dir, byName)
	})
}

// errUndone is a directory that is being removed again and again.
var errUndone = errors.New("another client removes what is created, again and again")

// create makes a node, or finds the one of an earlier call, and lists the directory
// by name.
func (s *session) create(ctx context.Context, dir, id string, data []byte) (n driver.Node, all []driver.Node, err error) {
	k, o := slotKey{dir, id}, s.Write("create", s.tree.dir(dir))
	if err := driver.CheckData(data); err != nil {
		return n, nil, o.Failed(nil, err)
	}
	data = bytes.Clone(data)
	for start := time.Now(); time.Since(start) < o.Limit; {
		if err := s.settle(ctx, o, k); err != nil {
			return n, nil, unfinished(o, err)
		}
		m := made{base: s.slot(k).base}
		if m.base == "" {
			if m, err = s.makeNode(ctx, o, k, data); err != nil {
				return n, nil, err
			}
		}
		// From here on there is a node, whatever goes wrong.
		if all, err = s.show(ctx, o, k, m); err != nil && !errors.Is(err, gozk.ErrNoNode) {
			return n, nil, unfinished(o, err)
		}
		if i := slices.IndexFunc(all, func(n driver.Node) bool { return strings.HasSuffix(n.Key, "/"+m.base) }); i >= 0 {
			s.noteAlone(dir, m.base, len(all) == 1)
			return all[i], all, nil
		}
		s.changeSlot(k, m.base, func(v *slot) { *v = slot{} }) // an operator has removed it
	}
	return n, nil, o.Failed(driver.ErrUncertain, errUndone)
}

// makeNode makes a node by a transaction. The list of the directory travels right behind
// it. If the session had the directory to itself lately, the transaction writes to the
// directory instead: the answer tells how many nodes there are then, and if it is one,
// there is nothing to list.
func (s *session) makeNode(ctx context.Context, o attempt.Op, k slotKey, data []byte) (m made, err error) {
	path := s.tree.dir(k.dir)
	stem := slotPrefix(s.ID(), k.id) + strconv.FormatUint(s.nonce.Add(1), 10)
	ops := []any{&gozk.CreateRequest{Path: path + "/" + stem + "-", Data: data, Acl: s.tree.acl, Flags: gozk.FlagEphemeral | gozk.FlagSequence}}
	reading, cancel := context.WithTimeout(ctx, o.Limit)
	defer cancel()
	var lists chan listing
	if s.likelyAlone(k.dir) {
		ops = append(ops, &gozk.SetDataRequest{Path: path, Version: -1})
	} else {
		lists = make(chan listing, 1)
		s.link.behind(reading, stem, func() {
			ls, _ := children(reading, s.link, path) // after an error, show lists again
			lists <- ls
		})
	}
	start := time.Now()
	results, err := s.fenced(ctx, o, false, ops, func(op int, err error) error {
		if op > 0 || !errors.Is(err, gozk.ErrNoNode) || time.Since(start) > o.Limit {
			return err
		}
		ensure := o
		ensure.Write = false // a directory too many does no harm
		_, err = library(ctx, s, ensure, func(c *gozk.Conn) (struct{}, error) { return struct{}{}, s.tree.ensure(c, s.tree.acl, path) })
		return err
	})
	switch {
	case errors.Is(err, driver.ErrUncertain):
		s.changeSlot(k, "", func(v *slot) { v.doubt = true })
		return m, err
	case errors.Is(err, gozk.ErrNoAuth) && len(ops) > 1: // there may be no permission to write to the directory
		return s.makeNode(ctx, o, k, data)
	case err != nil:
		return m, err
	}
	_, m.base = cut(results[1].String)
	m.known = &remembered{data: data}
	s.changeSlot(k, "", func(v *slot) { v.base = m.base })
	d := s.tree.directory(k.dir)
	if len(results) > 2 {
		stat := *results[2].Stat
		if d.advance(stat, m.base); stat.NumChildren == 1 {
			m.listing = listing{[]string{m.base}, stat}
		}
	}
	d.learn(m.base, *m.known, d.mzxid()) // nobody has updated it yet
	if lists != nil {
		select {
		case m.listing = <-lists:
		case <-reading.Done():
		}
	}
	return m, nil
}

// likelyAlone reports whether the session's last node in a directory was the only one, and
// was deleted since.
func (s *session) likelyAlone(dir string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	base, known := s.alone[dir]
	if known && base == "" {
		delete(s.alone, dir)
		return true
	}
	return false
}

// noteAlone remembers whether a node of the session is the only one.
func (s *session) noteAlone(dir, base string, alone bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.alone, dir)
	if len(s.alone) >= mostDirs {
		clear(s.alone)
	}
	if alone {
		s.alone[dir] = base
	}
}

// show returns the list that holds a node of the session. The error Is ErrNoNode, or the
// list does not hold the node, if it is gone.
func (s *session) show(ctx context.Context, o attempt.Op, k slotKey, m made) ([]driver.Node, error) {
	o.Write = false
	return do(ctx, s, o, func(ctx context.Context, l *link) (all []driver.Node, err error) {
		if m.known == nil {
			// An earlier call made the node. A server that lags behind still shows it after
			// an operator has removed it through another one.
			if err := agree(ctx, l); err != nil {
				return nil, err
			}
		}
		for err = errMoved; err == errMoved && ctx.Err() == nil; m.listing = (listing{}) {
			if !slices.Contains(m.listing.names, m.base) {
				if m.listing, err = children(ctx, l, s.tree.dir(k.dir)); err != nil {
					return nil, err
				}
			}
			all, err = s.tree.nodes(ctx, l, k.dir, m.listing, true, m)
		}
		return all, err
	})
}

// settle clears up what earlier calls have left in a slot.
func (s *session) settle(ctx context.Context, o attempt.Op, k slotKey) error {
	if s.slot(k).doubt {
		if err := s.find(ctx, o, k); err != nil {
			return err
		}
	}
	if known := s.slot(k); known.leaving > 0 { // to return the node would be to return one that is removed later
		return s.remove(ctx, o, k, s.tree.dir(k.dir)+"/"+known.base)
	}
	return nil
}

// find moves the fence, so that no earlier Create makes a node any more, and looks for the
// node that one has made.
func (s *session) find(ctx context.Context, o attempt.Op, k slotKey) error {
	o.Write = false                                             // to move the fence once more does no harm
	if _, err := s.fenced(ctx, o, true, nil, nil); err != nil { // without operations none is refused
		return err
	}
	path, prefix := s.tree.dir(k.dir), slotPrefix(s.ID(), k.id)
	found, err := do(ctx, s, o, func(ctx context.Context, l *link) (string, error) {
		ls, err := children(ctx, l, path)
		for _, base := range ls.names {
			n, ok := parseName(base)
			if !ok || !strings.HasPrefix(base, prefix) {
				continue
			}
			it, err := get(ctx, l, path+"/"+base)
			if err != nil && !errors.Is(err, gozk.ErrNoNode) {
				return "", err
			}
			if err == nil && it.stat.EphemeralOwner == n.owner {
				return base, nil
			}
		}
		return "", err
	})
	if err != nil && !errors.Is(err, gozk.ErrNoNode) {
		return err
	}
	s.changeSlot(k, "", func(v *slot) { *v = slot{base: found} })
	return nil
}

// Abandon implements driver.Session. An Abandon that is late itself does no harm: it
// removes by name, and names are not used again.
func (s *session) Abandon(ctx context.Context, dir, id string) error {
	k, o := slotKey{dir, id}, s.Write("abandon", s.tree.dir(dir))
	if s.slot(k).base == "" {
		if err := s.find(ctx, o, k); err != nil {
			return err
		}
	}
	if known := s.slot(k); known.base != "" {
		return s.remove(ctx, o, k, s.tree.dir(dir)+"/"+known.base)
	}
	return nil
}
