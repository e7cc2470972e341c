package zk

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
)

// Create implements driver.Session. It costs what CreateList costs, as the
// numbers of a node depend on its directory.
func (s *session) Create(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
	n, _, err := s.CreateList(ctx, dir, id, data)
	return n, err
}

// CreateList implements driver.CreateLister. It lists by name, as ListNames does.
func (s *session) CreateList(ctx context.Context, dir, id string, data []byte) (n driver.Node, all []driver.Node, err error) {
	o := s.change("create", dir)
	err = s.live(func() error {
		if err := checkData(o, data); err != nil {
			return err
		}
		n, all, err = s.create(ctx, o, slotKey{dir, id}, data)
		return err
	})
	if err != nil {
		return driver.Node{}, nil, err
	}
	return n, all, nil
}

// errUndone is a directory that is being removed again and again.
var errUndone = errors.New("somebody removes what is created, again and again")

func (s *session) create(ctx context.Context, o op, k slotKey, data []byte) (driver.Node, []driver.Node, error) {
	for start := time.Now(); time.Since(start) < o.limit; {
		if doubt := s.slots.get(k).doubt; doubt != nil {
			base, err := s.settle(ctx, o, k, *doubt)
			if err != nil {
				return driver.Node{}, nil, uncertain(o, err)
			}
			s.slots.found(k, base)
		}
		if known := s.slots.get(k); known.leaving > 0 {
			// What the slot is to be emptied by may be on its way: to return the node
			// would be to return one that is removed.
			if err := s.empty(ctx, o, k, known.base); err != nil {
				return driver.Node{}, nil, uncertain(o, err)
			}
		}
		m := made{base: s.slots.get(k).base}
		var err error
		if m.base == "" {
			m, err = s.makeNode(ctx, o, k, data)
			if err != nil {
				return driver.Node{}, nil, err
			}
		}
		if m.base == "" {
			continue // what it was refused for is mended
		}
		// From here on there is a node, whatever goes wrong.
		n, all, found, err := s.show(ctx, o, k, m)
		if err != nil {
			return driver.Node{}, nil, uncertain(o, err)
		}
		if found {
			return n, all, nil
		}
		s.slots.clear(k, m.base)
	}
	return driver.Node{}, nil, failed(o, driver.ErrUnavailable, errUndone)
}

// uncertain makes an error say that a node may exist, if it does not say more
// already. It keeps the cause, and not the kind: who is told that a call surely
// had no effect clears up nothing.
func uncertain(o op, err error) error {
	var e *driver.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Kind {
	case driver.ErrUnavailable:
		return failed(o, driver.ErrUncertain, e.Err)
	case driver.ErrDenied: // in which trying again is of no use
		return failed(o, driver.ErrUncertain, fmt.Errorf("%w for what follows: %w", driver.ErrDenied, e.Err))
	}
	return err
}

// made is a node that was made, as far as the answer tells.
type made struct {
	base    string  // its name; "" if there is none
	listing listing // of its directory, asked for with it, or known without
	at      uint64  // a zxid at which it was there
	data    []byte  // what it was made with
	fresh   bool    // it was made just now, with data
	only    bool    // there is no other in its directory
}

// makeNode makes a node. The list of the directory is asked for with it, and so
// costs no time of its own, unless it is likely that the answer will tell that there
// is nobody else (see alone). Without an error, there may be no node all the same:
// then what was in the way is not any more.
func (s *session) makeNode(ctx context.Context, o op, k slotKey, data []byte) (m made, err error) {
	path, fence := s.conn.dir(k.dir), s.fence.position()
	stem := slotPrefix(s.ID(), k.id) + strconv.FormatUint(s.nonce.Add(1), 10)
	data = bytes.Clone(data) // the caller may use its own again
	s.conn.cache.directory(k.dir).expect(stem, data)
	parts := creating(fence, path+"/"+stem+"-", data, s.conn.acl)
	change := &member{parts: parts, size: len(data), adds: 2, grows: path, lists: !s.alone.likely(k.dir)}
	it := s.link.together(ctx, o, change, func() (it effect) {
		requests := [][]byte{transaction(parts)}
		if change.lists {
			requests = append(requests, request(opGetChildren2, path, false))
		}
		answers, on, err := s.link.exchangeAll(ctx, o, requests...)
		if err != nil {
			return effect{err: err}
		}
		if change.lists {
			it.names = answers[1]
		}
		it.at = answers[0].zxid
		it.results, it.err = readResults(answers[0], change.adds)
		if it.denied = isRefusal(it.err); it.err != nil && !it.denied {
			it.err = s.link.turnedDown(ctx, o, on, it.err)
		}
		return it
	})
	switch {
	case it.denied:
		return made{}, s.mend(ctx, o, k, it.results, it.err)
	case errors.Is(it.err, driver.ErrUncertain):
		s.slots.set(k, slot{doubt: &fence})
		return made{}, it.err
	case it.err != nil:
		return made{}, it.err
	}
	m = made{data: data, at: it.at, fresh: true}
	_, m.base = cut(it.results[1].String)
	if change.lists {
		if names := it.names; !names.lost && names.code == 0 {
			m.listing, _ = readListing(names.body)
		}
	} else if n, ok := parseName(m.base); ok {
		if parent, certain := s.alone.only(k.dir, n.sequence, m.at); certain {
			m.only = true
			m.listing = listing{names: []string{m.base}, stat: gozk.Stat{Czxid: parent, Pzxid: int64(m.at)}}
		}
	}
	s.slots.set(k, slot{base: m.base})
	return m, nil
}

// creating describes, for a transaction, how to create a node of the session whose
// fence is given.
func creating(fence mark, prefix string, data []byte, acl []gozk.ACL) []any {
	parts := []any{
		opCheck, false, -1, fence.path, fence.version,
		opCreate, false, -1, prefix, data, len(acl),
	}
	for _, a := range acl {
		parts = append(parts, a.Perms, a.Scheme, a.ID)
	}
	return append(parts, int(gozk.FlagEphemeral|gozk.FlagSequence))
}

// readResults reads the answer to a transaction that checks, creates and deletes,
// of which so many results are expected.
func readResults(a answer, want int) (results []gozk.MultiResponse, err error) {
	if a.lost {
		return nil, gozk.ErrConnectionClosed
	}
	if a.code != 0 {
		return nil, errorOf(a.code)
	}
	r := reader{rest: string(a.body)}
	for {
		kind, done, _ := r.int32(), r.part(1), r.int32()
		if done != "\x00" {
			break
		}
		var it gozk.MultiResponse
		switch kind {
		case opError:
			if it.Error = errorOf(r.int32()); it.Error != nil && !isAnswer(it.Error) {
				it.Error = fmt.Errorf("%w: %w", errPart, it.Error)
			}
			if err == nil {
				err = it.Error
			}
		case opCreate:
			it.String = r.part(r.int32())
		}
		results = append(results, it)
	}
	if err == nil && (r.short || r.rest != "" || len(results) != want) {
		err = errStranger
	}
	return results, err
}

// mend does away with what a request for a node was refused for: the fence that
// stands elsewhere, or the directory that does not exist.
func (s *session) mend(ctx context.Context, o op, k slotKey, results []gozk.MultiResponse, err error) error {
	fenced := len(results) > 0 && results[0].Error != nil
	switch {
	case fenced && (errors.Is(err, gozk.ErrBadVersion) || errors.Is(err, gozk.ErrNoNode)):
		return s.locate(ctx, o)
	case !fenced && errors.Is(err, gozk.ErrNoNode):
		o.write = false
		_, err := call(ctx, s.link, o, func(lib *gozk.Conn) (struct{}, error) {
			return struct{}{}, s.conn.ensure(lib, s.conn.dir(k.dir))
		})
		return err
	}
	return failed(o, kindOf(err, o.write), err)
}

// show returns a node of the slot and the list that holds it. It reports false
// if the node is gone.
func (s *session) show(ctx context.Context, o op, k slotKey, m made) (n driver.Node, all []driver.Node, found bool, err error) {
	c := s.conn
	o.write = false
	path := c.dir(k.dir)
	parsed, ok := parseName(m.base)
	if !ok {
		return n, nil, false, failed(o, nil, fmt.Errorf("the store made %q, which is no node's name", m.base))
	}
	if !m.fresh {
		// The node was made by an earlier call. A server that lags behind still shows it
		// after an operator has removed it.
		if err := agree(ctx, s.link, o); err != nil {
			return n, nil, false, err
		}
	}
	if !slices.Contains(m.listing.names, m.base) {
		m.listing, err = s.link.names(ctx, o, path)
		if errors.Is(err, gozk.ErrNoNode) || err == nil && !slices.Contains(m.listing.names, m.base) {
			return n, nil, false, nil
		}
		if err != nil {
			return n, nil, false, err
		}
	}
	r := remembered{data: m.data}
	_, numbered := number(m.listing.stat.Czxid, parsed.sequence)
	if !m.fresh || !numbered {
		it, err := call(ctx, s.link, o, func(lib *gozk.Conn) (content, error) {
			it := get(lib, path+"/"+m.base)
			return it, it.err
		})
		if errors.Is(err, gozk.ErrNoNode) {
			return n, nil, false, nil
		}
		if err != nil {
			return n, nil, false, err
		}
		if r = it.remember(); !it.belongs(parsed) {
			return n, nil, false, failed(o, nil, fmt.Errorf("%s/%s is not bound to this session: somebody else has made it", path, m.base))
		}
	}
	n = c.asNode(k.dir, m.base, parsed, r, m.listing.stat)
	if m.only {
		all = []driver.Node{n}
	} else {
		all, err = c.line(ctx, s.link, o, k.dir, m.listing, &owned{parsed.stem, r}, true)
	}
	if err == errMoved { // a later list is as good
		if all, err = c.list(ctx, s.link, o, k.dir, true); err == nil && !slices.ContainsFunc(all, n.Same) {
			return n, nil, false, nil
		}
	}
	if err == nil {
		now := spell{base: m.base, parent: m.listing.stat.Czxid, sequence: parsed.sequence}
		s.alone.made(k.dir, now, numbered && len(all) == 1, m.at)
	}
	return n, all, err == nil, err
}
