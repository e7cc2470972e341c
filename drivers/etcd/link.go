package etcd

import (
	"errors"
	"fmt"
	"strings"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coordkit/coordkit/coord/driver"
)

// link is what has to be known of a stream while it lives.
type link struct {
	want    []*feed         // watches to open, the oldest first
	opening *feed           // whose opening was asked for; one at a time, as the answer does not tell
	watches map[int64]*feed // the open ones
	drop    []int64         // watches to end
	heard   time.Time       // when the server said something last
	asked   time.Time       // since when an answer is due; zero if none is
}

// due returns the requests to send now, or an error that ends the stream.
func (h *feeds) due(now time.Time) (requests []*pb.WatchRequest, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.all) == 0 {
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
		f := l.want[0]
		l.want = l.want[1:]
		if h.all[f.span] == f {
			l.opening = f
			requests = append(requests, watchRequest(f.span))
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

// watchRequest asks for the deletions from now on.
func watchRequest(s span) *pb.WatchRequest {
	return &pb.WatchRequest{RequestUnion: &pb.WatchRequest_CreateRequest{
		CreateRequest: &pb.WatchCreateRequest{
			Key:      []byte(s.from),
			RangeEnd: []byte(s.to),
			Filters:  []pb.WatchCreateRequest_FilterType{pb.WatchCreateRequest_NOPUT},
		},
	}}
}

// age ends the feeds that nobody has used for a while, and has those checked
// whose time has come: servers have lost deletions, at a compaction or after
// they were restored.
func (h *feeds) age(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.all {
		switch {
		case f.waiting == 0 && now.Sub(f.idle) >= h.timing.linger:
			h.remove(f)
		case f.waiting > 0 && f.open && !now.Before(f.verify):
			f.verify = h.nextVerify(now)
			f.doubt()
			h.readIfDoubtful(f)
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
	if f := l.watches[resp.WatchId]; f != nil {
		for _, e := range resp.Events {
			if e.Type == clientv3.EventTypeDelete {
				f.note(string(e.Kv.Key), uint64(e.Kv.ModRevision))
			}
		}
		f.tell() // a response has all of a revision
	}
	return nil
}

// created takes the answer to the one request for a watch that is under way.
func (h *feeds) created(resp *pb.WatchResponse) error {
	l := &h.link
	f := l.opening
	l.opening = nil
	defer h.poke() // for the next one
	switch {
	case f == nil:
		return fmt.Errorf("%w: it opened one that nobody asked for", errRefused)
	case resp.Canceled:
		return h.refused(f, resp.CancelReason)
	case h.all[f.span] != f: // not needed any more
		l.drop = append(l.drop, resp.WatchId)
		return nil
	}
	l.watches[resp.WatchId] = f
	f.opened(resp.WatchId, uint64(resp.Header.GetRevision()))
	h.readIfDoubtful(f)
	return nil
}

// refused decides what a refusal to watch means.
func (h *feeds) refused(f *feed, reason string) error {
	// The server sends the text of a gRPC error here, and not the error.
	if _, text, ok := strings.Cut(reason, "desc = "); ok {
		reason = text
	}
	err := rpctypes.Error(errors.New(reason))
	if f.refusals++; f.refusals < mostRefusals || kindOf(err, false) != driver.ErrDenied {
		return fmt.Errorf("%w: %v", errRefused, err)
	}
	h.fail(f, failed(op{name: "watch", key: f.from}, driver.ErrDenied, err))
	return nil
}
