package etcd

import (
	"errors"
	"fmt"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/coordkit/coordkit/coord/driver"
)

// link is what has to be known of a stream while it lives.
type link struct {
	want    []subject         // with watches to open, the oldest first
	opening subject           // whose opening was asked for; one at a time, as the answer does not tell
	watches map[int64]subject // with open ones
	drop    []int64           // watches to end
	heard   time.Time         // when the server said something last
	asked   time.Time         // since when an answer is due; zero if none is
}

// due returns the requests to send now, or an error that ends the stream.
func (h *feeds) due(now time.Time) (requests []*pb.WatchRequest, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.empty() {
		return nil, errUnneeded
	}
	l := &h.link
	for _, id := range l.drop {
		requests = append(requests, &pb.WatchRequest{RequestUnion: &pb.WatchRequest_CancelRequest{
			CancelRequest: &pb.WatchCancelRequest{WatchId: id},
		}})
	}
	l.drop = nil
	for l.opening == nil && len(l.want) > 0 {
		s := l.want[0]
		l.want = l.want[1:]
		if h.has(s) {
			l.opening = s
			requests = append(requests, watchRequest(s.state()))
			l.ask(now)
		}
	}
	if l.asked.IsZero() && now.Sub(l.heard) >= h.timing.quiet {
		requests = append(requests, &pb.WatchRequest{RequestUnion: &pb.WatchRequest_ProgressRequest{
			ProgressRequest: &pb.WatchProgressRequest{},
		}})
		l.ask(now)
	}
	if !l.asked.IsZero() && now.Sub(l.asked) >= h.timing.answer {
		return nil, errSilent
	}
	return requests, nil
}

// ask takes note that an answer is due.
func (l *link) ask(now time.Time) {
	if l.asked.IsZero() {
		l.asked = now
	}
}

// watchRequest asks for the events from now on.
func watchRequest(w *watch) *pb.WatchRequest {
	r := &pb.WatchCreateRequest{Key: []byte(w.from), RangeEnd: []byte(w.to)}
	if w.deletions {
		r.Filters = []pb.WatchCreateRequest_FilterType{pb.WatchCreateRequest_NOPUT}
	}
	return &pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{CreateRequest: r}}
}

// age ends the subjects that nobody has used for a while, and has those checked
// whose time has come: servers have lost deletions, at a compaction or after
// they were restored.
func (h *feeds) age(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for dir, found := range h.crowds {
		if now.Sub(found) > crowdedAs {
			delete(h.crowds, dir)
		}
	}
	for s := range h.subjects() {
		w := s.state()
		switch {
		case !s.wanted(now, h.timing.linger):
			h.remove(s)
		case s.wanted(now, 0) && w.open && !now.Before(w.verify):
			w.verify = h.nextVerify(now)
			s.doubt()
			h.readIfDoubtful(s)
		}
	}
}

// handle takes one message. An error ends the stream.
func (h *feeds) handle(resp *pb.WatchResponse) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := &h.link
	l.heard, l.asked = time.Now(), time.Time{}
	switch {
	case resp.Created:
		return h.created(resp)
	case resp.Canceled:
		if l.watches[resp.WatchId] == nil {
			return nil // as asked
		}
		return fmt.Errorf("%w: %s", errRefused, resp.CancelReason)
	}
	if s := l.watches[resp.WatchId]; s != nil {
		for _, e := range resp.Events {
			s.event(e)
		}
		s.tell() // a response has all of a revision
	}
	return nil
}

// created takes the answer to the one request for a watch that is under way.
func (h *feeds) created(resp *pb.WatchResponse) error {
	l := &h.link
	s := l.opening
	l.opening = nil
	defer h.poke() // for the next one
	switch {
	case s == nil:
		return fmt.Errorf("%w: it opened one that nobody asked for", errRefused)
	case resp.Canceled:
		return h.refused(s, resp.CancelReason)
	case !h.has(s): // not needed any more
		l.drop = append(l.drop, resp.WatchId)
		return nil
	}
	l.watches[resp.WatchId] = s
	s.opened(resp.WatchId, uint64(resp.Header.GetRevision()))
	h.readIfDoubtful(s)
	return nil
}

// refused decides what a refusal to watch means.
func (h *feeds) refused(s subject, reason string) error {
	// The server sends the text of a gRPC error here, and not the error.
	if _, text, ok := strings.Cut(reason, "desc = "); ok {
		reason = text
	}
	err := rpctypes.Error(errors.New(reason))
	w := s.state()
	if w.refusals++; w.refusals < mostRefusals || kindOf(err, false) != driver.ErrDenied {
		return fmt.Errorf("%w: %v", errRefused, err)
	}
	h.fail(s, failed(op{name: "watch", key: w.from}, driver.ErrDenied, err))
	return nil
}
