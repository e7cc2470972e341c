package slate

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
	"github.com/coordkit/coordkit/coord/driver/fence"
	"github.com/coordkit/coordkit/coord/driver/sessions"
	"github.com/coordkit/coordkit/examples/slate/slated"
)

// session is a lease in slated. What it is and how it ends is in sessions.Session.
type session struct {
	sessions.Session
	conn  *conn
	fence fence.Numbers
}

func (s *session) do(ctx context.Context, o attempt.Op, r slated.Request) (reply slated.Reply, err error) {
	err = s.Do(ctx, o, func(ctx context.Context) (err error) {
		reply, err = s.conn.send(ctx, o, r)
		return err
	})
	return reply, err
}

// fenced makes a transaction that does nothing if it arrives after a later one was
// answered. The floor is a key under the session's lease. After a request whose reply was
// lost the next one raises it, in a transaction before its own, whose conditions may not
// hold. raise says to raise it in any case. Then t has no conditions, and raises it itself.
func (s *session) fenced(ctx context.Context, o attempt.Op, raise bool, t slated.Request) (reply slated.Reply, err error) {
	key := s.conn.namespace + "/.fence/" + s.ID()
	look := slated.Action{Get: key}
	send := func(r fence.Request, t slated.Request) (floor uint64, err error) {
		t.Op = "txn"
		t.If = append(t.If, slated.Cond{Key: key, AtMost: &r.Number})
		t.Then, t.Else = append([]slated.Action{look}, t.Then...), append([]slated.Action{look}, t.Else...)
		if reply, err = s.do(ctx, o, t); err == nil && len(reply.Got[0]) > 0 {
			floor, err = strconv.ParseUint(string(reply.Got[0][0].Value), 10, 64)
		}
		return floor, err
	}
	err = s.fence.Do(raise, func(r fence.Request) (floor uint64, err error) {
		put := slated.Action{Put: &slated.KV{Key: key, Value: strconv.AppendUint(nil, r.Number, 10), Lease: s.ID()}}
		switch {
		case raise:
			return send(r, slated.Request{Then: append([]slated.Action{put}, t.Then...)})
		case r.Raise:
			if _, err = send(r, slated.Request{Then: []slated.Action{put}}); err != nil {
				return 0, err
			}
		}
		return send(r, t)
	})
	return reply, err
}

func (s *session) Create(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
	n, _, err := s.create(ctx, dir, id, data, s.conn.key(dir, s.ID(), id))
	return n, err
}

// CreateList implements driver.CreateLister: the transaction lists the directory as well.
func (s *session) CreateList(ctx context.Context, dir, id string, data []byte) (driver.Node, []driver.Node, error) {
	return s.create(ctx, dir, id, data, s.conn.prefix(dir))
}

// create makes the node, or finds it, and gets what begins with a prefix of its key.
func (s *session) create(ctx context.Context, dir, id string, data []byte, prefix string) (driver.Node, []driver.Node, error) {
	key := s.conn.key(dir, s.ID(), id)
	o := s.Write("create", key)
	if err := driver.CheckData(data); err != nil {
		return driver.Node{}, nil, o.Failed(nil, err)
	}
	get := slated.Action{Get: prefix}
	r, err := s.fenced(ctx, o, false, slated.Request{
		If:   []slated.Cond{{Key: key, Created: new(uint64)}},
		Then: []slated.Action{{Put: &slated.KV{Key: key, Value: data, Lease: s.ID()}}, get},
		Else: []slated.Action{get},
	})
	if err != nil {
		return driver.Node{}, nil, err
	}
	nodes := s.conn.nodes(dir, r.Got[1])
	for _, n := range nodes {
		if n.Key == key {
			return n, nodes, nil
		}
	}
	return driver.Node{}, nil, o.Failed(nil, errors.New("another client has written that key"))
}

// Abandon raises the floor, and removes the node.
func (s *session) Abandon(ctx context.Context, dir, id string) error {
	key := s.conn.key(dir, s.ID(), id)
	_, err := s.fenced(ctx, s.Write("abandon", key), true, slated.Request{Then: []slated.Action{{Del: key}}})
	return err
}

func (s *session) List(ctx context.Context, dir string) (nodes []driver.Node, err error) {
	o := s.Read("list", dir)
	err = s.Do(ctx, o, func(ctx context.Context) (err error) {
		nodes, err = s.conn.list(ctx, o, dir)
		return err
	})
	return nodes, err
}

func (s *session) Update(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
	o := s.Write("update", n.Key)
	if err := driver.CheckData(data); err != nil {
		return driver.Node{}, o.Failed(nil, err)
	}
	r, err := s.fenced(ctx, o, false, slated.Request{
		If:   []slated.Cond{{Key: n.Key, Created: &n.Token}},
		Then: []slated.Action{{Put: &slated.KV{Key: n.Key, Value: data, Lease: s.ID()}}},
	})
	if err != nil {
		return driver.Node{}, err
	}
	if !r.OK {
		return driver.Node{}, o.Failed(driver.ErrGone, nil)
	}
	n.Data, n.Version = bytes.Clone(data), r.Rev
	return n, nil
}

func (s *session) Delete(ctx context.Context, n driver.Node) error {
	_, err := s.do(ctx, s.Write("delete", n.Key), slated.Request{
		Op:   "txn",
		If:   []slated.Cond{{Key: n.Key, Created: &n.Token}},
		Then: []slated.Action{{Del: n.Key}},
	})
	return err
}

func (s *session) WaitDelete(ctx context.Context, n driver.Node) error {
	o := s.Read("wait", n.Key)
	o.Limit = 20 * time.Second // slated answers after 10 s
	for {
		r, err := s.do(ctx, o, slated.Request{Op: "wait", Key: n.Key, Created: n.Token})
		if err != nil || r.OK {
			return err
		}
	}
}
