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

// Create implements driver.Session. It costs what CreateList costs.
func (s *session) Create(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
	n, _, err := s.CreateList(ctx, dir, id, data)
	return n, err
}

// CreateList implements driver.CreateLister. The list leaves out the data of other nodes.
func (s *session) CreateList(ctx context.Context, dir, id string, data []byte) (n driver.Node, all []driver.Node, err error) {
	k, path := slotKey{dir, id}, s.tree.dir(dir)
	o, read := s.Write("create", path), s.Read("create", path)
	if err := driver.CheckData(data); err != nil {
		return n, nil, o.Failed(nil, err)
	}
	for start := time.Now(); time.Since(start) < o.Limit; {
		switch left := s.slot(k); {
		case left.doubt && left.base == "":
			err = s.find(ctx, o, k)
		case left.doubt: // to return the node would be to return one that is removed later
			err = s.remove(ctx, o, k, left.base)
		default:
			err = nil
		}
		if err != nil {
			return n, nil, unfinished(o, err)
		}
		base, its, lists := s.slot(k).base, bytes.Clone(data), (<-chan listing)(nil)
		if base == "" {
			base, lists, err = s.makeNode(ctx, o, k, its)
			if errors.Is(err, gozk.ErrNoNode) {
				_, err = library(ctx, s, read, func(c *gozk.Conn) (struct{}, error) { return struct{}{}, s.tree.ensure(c, s.tree.acl, path) })
				if err == nil {
					continue
				}
			}
			if err != nil {
				return n, nil, err
			}
		}
		// From here on there is a node, whatever goes wrong.
		all, err = do(ctx, s, read, func(ctx context.Context) (nodes []driver.Node, err error) {
			var ls listing
			if lists != nil {
				select {
				case ls = <-lists:
				case <-ctx.Done():
				}
			} else if err = agree(ctx, s.link); err == nil { // else a server that is behind shows what is removed
				var own content
				own, err = s.tree.read(ctx, s.link, dir, base)
				its = own.data
			}
			if !slices.Contains(ls.names, base) {
				ls = listing{}
			}
			if err == nil {
				nodes, err = s.tree.list(ctx, s.link, dir, true, ls)
			}
			return nodes, err
		})
		if err != nil && !errors.Is(err, gozk.ErrNoNode) {
			return n, nil, unfinished(o, err)
		}
		if i := slices.IndexFunc(all, func(n driver.Node) bool { return strings.HasSuffix(n.Key, "/"+base) }); i >= 0 {
			all[i].Data = its
			return all[i], all, nil
		}
		s.setSlot(k, base, slot{}) // an operator has removed it
	}
	return n, nil, o.Failed(driver.ErrUncertain, errors.New("another client removes what is created, again and again"))
}

// makeNode makes a node by a transaction. The list of the directory travels right behind it.
// If the directory is likely to be empty, the transaction writes to the directory instead, and
// the answer tells whether the node is alone. The error Is ErrNoNode if there is no directory.
func (s *session) makeNode(ctx context.Context, o attempt.Op, k slotKey, data []byte) (base string, lists <-chan listing, err error) {
	path, d := s.tree.dir(k.dir), s.tree.directory(k.dir)
	stem := slotPrefix(s.ID(), k.id) + strconv.FormatUint(s.nonce.Add(1), 10) + "-"
	ops := []any{&gozk.CreateRequest{Path: path + "/" + stem, Data: data, Acl: s.tree.acl, Flags: gozk.FlagEphemeral | gozk.FlagSequence}}
	list := make(chan listing, 1)
	alone := d.takeEmpty()
	if alone {
		ops = append(ops, &gozk.SetDataRequest{Path: path, Version: -1})
	} else {
		s.link.behind(stem, func() {
			ls, _ := children(ctx, s.link, path)
			list <- ls
		})
		defer s.link.behind(stem, nil)
	}
	results, err := s.fenced(ctx, o, false, ops...)
	switch {
	case errors.Is(err, driver.ErrUncertain):
		s.setSlot(k, "", slot{doubt: true})
		return "", nil, err
	case errors.Is(err, gozk.ErrNoAuth) && alone: // there may be no permission to write to the directory
		return s.makeNode(ctx, o, k, data)
	case err != nil:
		return "", nil, err
	}
	_, base = cut(results[1].String)
	s.setSlot(k, "", slot{base: base})
	if alone {
		var ls listing
		stat := *results[2].Stat
		if d.advance(stat, base); stat.NumChildren == 1 {
			ls = listing{[]string{base}, stat}
		}
		list <- ls
	}
	d.learn(base, content{data: data}, 0)
	return base, list, nil
}

// find moves the fence, so that no earlier Create makes a node any more, and looks for its node.
func (s *session) find(ctx context.Context, o attempt.Op, k slotKey) error {
	o.Write = false // to move the fence once more does no harm
	if _, err := s.fenced(ctx, o, true); err != nil {
		return err
	}
	found, err := do(ctx, s, o, func(ctx context.Context) (string, error) {
		ls, err := children(ctx, s.link, s.tree.dir(k.dir))
		for _, base := range ls.names {
			if !strings.HasPrefix(base, slotPrefix(s.ID(), k.id)) {
				continue
			}
			if _, err := s.tree.read(ctx, s.link, k.dir, base); !errors.Is(err, gozk.ErrNoNode) {
				return base, err
			}
		}
		return "", err
	})
	if err != nil && !errors.Is(err, gozk.ErrNoNode) {
		return err
	}
	s.setSlot(k, "", slot{base: found})
	return nil
}

// Abandon implements driver.Session. A late one does no harm: names are not used again.
func (s *session) Abandon(ctx context.Context, dir, id string) error {
	k, o := slotKey{dir, id}, s.Write("abandon", s.tree.dir(dir))
	if s.slot(k).base == "" {
		if err := s.find(ctx, o, k); err != nil {
			return err
		}
	}
	if base := s.slot(k).base; base != "" {
		return s.remove(ctx, o, k, base)
	}
	return nil
}

// Update implements driver.Session. It writes the node's name to the directory as well, which
// tells clients that list or watch the directory to read the node again.
func (s *session) Update(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
	o := s.Write("update", n.Key)
	if err := errors.Join(driver.CheckData(data), s.tree.check(n)); err != nil {
		return driver.Node{}, o.Failed(nil, err)
	}
	n.Data = bytes.Clone(data)
	dir, base := cut(n.Key)
	results, err := s.fenced(ctx, o, false,
		&gozk.SetDataRequest{Path: n.Key, Data: n.Data, Version: -1},
		&gozk.SetDataRequest{Path: dir, Data: []byte(base), Version: -1})
	if errors.Is(err, gozk.ErrNoNode) {
		err = o.Failed(driver.ErrGone, nil)
	}
	if err != nil {
		return driver.Node{}, err
	}
	d, stat := s.tree.directory(n.Dir), *results[2].Stat
	d.advance(stat, base)
	d.learn(base, content{data: n.Data}, stat.Mzxid)
	return n, nil
}

// Delete implements driver.Session.
func (s *session) Delete(ctx context.Context, n driver.Node) error {
	o := s.Write("delete", n.Key)
	if err := s.tree.check(n); err != nil {
		return o.Failed(nil, err)
	}
	_, base := cut(n.Key)
	return s.remove(ctx, o, slotKey{n.Dir, n.ID}, base)
}

// remove deletes a node, if it is there.
func (s *session) remove(ctx context.Context, o attempt.Op, k slotKey, base string) error {
	_, err := library(ctx, s, o, func(c *gozk.Conn) (struct{}, error) {
		err := c.Delete(s.tree.dir(k.dir)+"/"+base, -1)
		if errors.Is(err, gozk.ErrNoNode) {
			err = nil
		}
		return struct{}{}, err
	})
	switch {
	case err == nil:
		s.setSlot(k, base, slot{})
		s.tree.directory(k.dir).removed(base)
	case errors.Is(err, driver.ErrUncertain):
		s.setSlot(k, base, slot{base, true})
	}
	return err
}
