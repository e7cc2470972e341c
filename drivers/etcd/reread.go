package etcd

import (
	"errors"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord/driver"
)

// readIfDoubtful has the store asked about what the watch alone cannot tell. The
// caller holds the lock.
func (h *feeds) readIfDoubtful(s subject) {
	w := s.state()
	if h.closed || !w.open || w.reading {
		return
	}
	if _, any := s.unread(); !any {
		return
	}
	w.reading = true
	h.running.Go(func() { h.reread(s) })
}

// reread reads until nothing is in doubt, or the watch breaks: then the next
// one starts it again. One read serves all waits: of the one key that is in
// doubt, or of the range. It does not ask for keys only: since etcd 3.7 that
// answer comes without the leases (etcd-io/etcd#22209).
func (h *feeds) reread(s subject) {
	// The member that fell silent is still among those that are asked in turn,
	// so the first attempts are short.
	w := s.state()
	o := op{name: "watch", key: w.from, limit: h.timing.answer, life: h.ctx}
	for pause := pause; ; pause = min(2*pause, longestReopen) {
		part, any := h.inDoubt(s)
		if !any {
			return
		}
		resp, err := h.conn.read(w.ctx, o, rangeOver(part))
		if !h.settle(s, part, resp, err) {
			continue
		}
		h.conn.log.Debug("reading again what is watched", zap.Error(err), zap.Duration("pause", pause))
		sleep(w.ctx, pause) // if ctx has ended, the next read finds out
		o.limit = max(o.limit, min(2*o.limit, h.conn.timing.attempt))
	}
}

// inDoubt returns what has to be read, if anything has.
func (h *feeds) inDoubt(s subject) (part span, any bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	w := s.state()
	part, any = s.unread()
	if !any || !w.open {
		w.reading = false
		return span{}, false
	}
	return part, true
}

// settle takes the outcome of a read. It reports whether the read was in vain,
// so that the next one should wait a little.
func (h *feeds) settle(s subject, part span, resp *pb.RangeResponse, err error) (inVain bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case !h.has(s):
		return false // nobody needs it any more
	case err == nil:
		return s.read(part, resp.Kvs, uint64(resp.Header.Revision))
	case errors.Is(err, driver.ErrDenied), errors.Is(err, driver.ErrClosed):
		h.fail(s, err)
		return false
	default:
		return true
	}
}
