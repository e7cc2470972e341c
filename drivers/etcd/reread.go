package etcd

import (
	"errors"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord/driver"
)

// readIfDoubtful has the store asked about the waits of which the watch alone
// cannot tell. The caller holds the lock.
func (h *feeds) readIfDoubtful(f *feed) {
	if h.closed || !f.open || f.reading {
		return
	}
	if _, any, _ := f.doubtful(); !any {
		return
	}
	f.reading = true
	h.running.Go(func() { h.reread(f) })
}

// reread reads until no wait is in doubt, or the watch breaks: then the next
// one starts it again. One read serves all: of the one key that is in doubt, or
// of the range. It does not ask for keys only: since etcd 3.7 that answer comes
// without the leases (etcd-io/etcd#22209).
func (h *feeds) reread(f *feed) {
	// The member that fell silent is still among those that are asked in turn,
	// so the first attempts are short.
	o := op{name: "watch", key: f.from, limit: h.timing.answer, life: h.ctx}
	for pause := pause; ; pause = min(2*pause, longestReopen) {
		part, any := h.inDoubt(f)
		if !any {
			return
		}
		resp, err := h.conn.read(h.ctx, o, rangeOver(part))
		if !h.settle(f, part, resp, err) {
			continue
		}
		h.conn.log.Debug("reading again what is waited for", zap.Error(err), zap.Duration("pause", pause))
		sleep(h.ctx, pause) // if ctx has ended, the next read finds out
		o.limit = max(o.limit, min(2*o.limit, h.conn.timing.attempt))
	}
}

// inDoubt returns what has to be read, if anything has.
func (h *feeds) inDoubt(f *feed) (part span, any bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	key, any, only := f.doubtful()
	if !any || !f.open {
		f.reading = false
		return span{}, false
	}
	if only {
		return span{from: key, to: key + "\x00"}, true
	}
	return f.span, true
}

// settle takes the outcome of a read. It reports whether the read was in vain,
// so that the next one should wait a little.
func (h *feeds) settle(f *feed, part span, resp *pb.RangeResponse, err error) (inVain bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil:
		return f.read(part, resp.Kvs, uint64(resp.Header.Revision))
	case errors.Is(err, driver.ErrDenied), errors.Is(err, driver.ErrClosed):
		if h.all[f.span] == f {
			h.fail(f, err)
		}
		return false
	default:
		return true
	}
}
