package etcd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/internal/batch"
)

// How changes share transactions. Up to so many requests are worth having under way
// at a time: what comes then waits for one of them to be answered, or for as long
// as a store takes that is slow. The server takes 128 operations at a time
// (--max-txn-ops), of which a member brings up to three of each kind, and 1.5 MiB
// (--max-request-bytes).
const (
	sharingFrom     = 12
	mostSharing     = 32
	mostSharedBytes = 512 << 10
	sharingPatience = 100 * time.Millisecond
)

// member is a transaction on a node that may be made together with others. The
// caller of txn may have gone when it is sent, so what it refers to stays as it is.
type member struct {
	session *session
	dir     span
	size    int
	req     *pb.TxnRequest

	answered chan struct{} // closed when the following is set
	resp     *pb.TxnResponse
	err      error
	refused  bool // all that shared: nothing was done, and each is to ask for itself
}

func newSharing(c *conn) *batch.Group[*member] {
	return &batch.Group[*member]{
		Limit: sharingFrom, Most: mostSharing, Patience: sharingPatience,
		Fits: fits, Send: c.share,
	}
}

// fits reports whether a member can share with others. One session has one end and
// one fence. And of a directory there can be one only: what is made at one time has
// one revision, which could not tell the order of two nodes, and a list would show
// what the same transaction deletes.
func fits(others []*member, m *member) bool {
	size := m.size
	for _, other := range others {
		if other.session != m.session || other.dir.overlaps(m.dir) {
			return false
		}
		size += other.size
	}
	return size <= mostSharedBytes
}

// overlaps reports whether the keys of one directory are keys of the other: one may
// lie in the other.
func (s span) overlaps(t span) bool {
	return strings.HasPrefix(s.from, t.from) || strings.HasPrefix(t.from, s.from)
}

// txn changes a node, alone if there is not much going on, or together with what
// else is to be changed at this time. data is what the transaction writes.
func (s *session) txn(ctx context.Context, o op, dir span, data []byte, req *pb.TxnRequest) (resp *pb.TxnResponse, err error) {
	alone := func() { resp, err = s.conn.txn(ctx, o, req) }
	if s.conn.sharing.Alone(alone) {
		return resp, err
	}
	keep(req)
	m := &member{session: s, dir: dir, size: len(data), req: req, answered: make(chan struct{})}
	single, sent := s.queueUp(ctx, o, m, alone)
	switch {
	case single:
		return resp, err
	case !sent && ctx.Err() != nil:
		return nil, failed(o, driver.ErrUnavailable, driver.ContextError(ctx))
	case !sent && s.ctx.Err() == nil:
		return nil, failed(o, driver.ErrUnavailable, fmt.Errorf("nothing was sent within %v", o.limit))
	case !sent:
		return nil, failed(o, driver.ErrClosed, nil)
	}
	select {
	case <-m.answered: // within the limit of an attempt
	case <-ctx.Done():
		return nil, failed(o, driver.ErrUncertain, driver.ContextError(ctx))
	case <-s.ctx.Done(): // of what comes of it now, the session's end is told
		return nil, failed(o, driver.ErrUncertain, s.ctx.Err())
	}
	if m.refused {
		return s.conn.txn(ctx, o, req)
	}
	return m.resp, renamed(o, m.err)
}

// keep has a transaction own what it writes: the caller may use its data again as
// soon as the call has returned, which may be before it is sent.
func keep(req *pb.TxnRequest) {
	for _, o := range req.Success {
		if put := o.GetRequestPut(); put != nil {
			put.Value = bytes.Clone(put.Value)
		}
	}
}

// queueUp has a member sent with others, or alone.
func (s *session) queueUp(ctx context.Context, o op, m *member, alone func()) (single, sent bool) {
	waiting, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	stop := context.AfterFunc(s.ctx, cancel)
	defer stop()
	sent = s.conn.sharing.Do(waiting, m, func() {
		single = true
		alone()
	})
	return single, sent
}

// renamed makes the error of one operation out of that of the shared one.
func renamed(o op, err error) error {
	var of *driver.Error
	if !errors.As(err, &of) {
		return err
	}
	return failed(o, of.Kind, of.Err)
}

// share makes one transaction of several. If a condition is not met, or the server
// refuses it, because of one or for all of them, then nothing was done and each
// finds out by itself.
func (c *conn) share(members []*member) {
	all := new(pb.TxnRequest)
	for _, m := range members {
		all.Compare = append(all.Compare, m.req.Compare...)
		all.Success = append(all.Success, m.req.Success...)
	}
	s := members[0].session
	// No caller's ctx: each has one of its own.
	resp, err := c.txn(context.Background(), s.change("change", s.ID()), all)
	answers := resp.GetResponses()
	for _, m := range members {
		switch {
		case err != nil && driver.Transient(err), errors.Is(err, driver.ErrClosed):
			m.err = err
		case err != nil || !resp.Succeeded:
			m.refused = true
		default:
			n := len(m.req.Success)
			m.resp = &pb.TxnResponse{Header: resp.Header, Succeeded: true, Responses: answers[:n:n]}
			answers = answers[n:]
		}
		close(m.answered)
	}
}
