package consul

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
)

func TestASharedReplyIsLost(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	old, kept := f.create(s, "old", "0"), f.create(s, "kept", "0")
	outcomes := f.rush(func() { f.tap.loseReply("write") },
		creating(within(t), s, "a"), creating(within(t), s, "b"),
		func() error { return s.Delete(within(t), old) },
		func() error { _, err := s.Update(within(t), kept, []byte("new")); return err })
	for _, outcome := range outcomes {
		wantIs(t, receive(t, "a call", outcome), driver.ErrUncertain)
	}
	f.wantKeys("old", 0)
	for _, dir := range []string{"a", "b"} {
		if there, n := f.wantOne(dir), f.create(s, dir, "0"); !n.Same(there) {
			t.Errorf("made %+v; want %+v", n, there)
		}
	}
	must(t, s.Delete(within(t), old))
	kept, err := s.Update(within(t), kept, []byte("new"))
	must(t, err)
	if n := f.wantOne("kept"); n.Version != kept.Version || string(n.Data) != "new" {
		t.Errorf("updated %+v, listed %+v", kept, n)
	}
}

// Who gives up before its turn has sent nothing, and nothing of it comes later: not
// even a fence is needed.
func TestWhoGivesUpBeforeItsTurnSendsNothing(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	ctx, cancel := context.WithCancel(within(t))
	gaveUp := make(chan error, 1)
	var outcomes []<-chan error
	sent := f.tap.during(func() {
		outcomes = f.rush(func() {
			cancel()
			wantIs(t, receive(t, "the one that gave up", gaveUp), driver.ErrUnavailable, context.Canceled)
		}, func() error {
			_, err := s.Create(ctx, "a", "0", nil)
			gaveUp <- err
			return nil
		}, creating(within(t), s, "b"), creating(within(t), s, "c"))
		must(t, receive(t, "another", outcomes[1]))
		must(t, receive(t, "another", outcomes[2]))
	})
	if sent["write"] != 2 {
		t.Errorf("%d writes, want 2", sent["write"])
	}
	f.wantKeys("a", 0)
	f.wantKeys("b", 1)
	f.wantKeys("c", 1)
}

// Who gives up after that does not know, and can fence off what is under way. The
// others' changes are made all the same.
func TestWhoGivesUpWhileItsTransactionIsUnderWay(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	old := f.create(s, "old", "0")
	ctx, cancel := context.WithCancel(within(t))
	var shared *holding
	outcomes := f.rush(func() { shared = hold("write", f.tap) },
		creating(ctx, s, "a"), creating(within(t), s, "b"), func() error { return s.Delete(within(t), old) })
	receive(t, "the shared transaction", shared.caught)
	cancel()
	wantIs(t, receive(t, "the one that gives up", outcomes[0]), driver.ErrUncertain, context.Canceled)
	must(t, s.Abandon(within(t), "a", "0"))
	wantRefused(t, shared)
	must(t, receive(t, "another", outcomes[1]))
	must(t, receive(t, "another", outcomes[2]))
	f.wantKeys("a", 0)
	f.wantKeys("b", 1)
	f.wantKeys("old", 0)
}

// Data is the caller's again when its call has returned, which may be before what
// it shares is sent.
func TestSharedDataIsNotTheCallers(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	f.sharing.Limit = 1
	ctx, cancel := context.WithCancel(within(t))
	aheadCtx, leave := context.WithCancel(within(t))
	for range maxCalls {
		f.room <- struct{}{}
	}
	ahead := calling(creating(aheadCtx, s, "ahead"))
	eventually(t, "one is ahead", func() bool { return !f.sharing.Alone(func() {}) })
	data := []byte("data")
	var calls []func() error
	for i := range 2 {
		calls = append(calls, func() error { _, err := s.Create(ctx, fmt.Sprint("d", i), "0", data); return err })
	}
	outcomes := f.waitToShare(calls...)
	leave()
	wantIs(t, receive(t, "the one ahead", ahead), driver.ErrUnavailable, context.Canceled)
	eventually(t, "it is their turn", func() bool { return f.sharing.Waiting() == 0 })
	cancel()
	for _, outcome := range outcomes {
		wantIs(t, receive(t, "a call", outcome), driver.ErrUncertain, context.Canceled)
	}
	copy(data, "else")
	for range maxCalls {
		<-f.room
	}
	for i := range 2 {
		dir := fmt.Sprint("d", i)
		eventually(t, "it is made", func() bool { return len(f.keys(dir)) == 1 })
		if n := f.wantOne(dir); string(n.Data) != "data" {
			t.Errorf("made %+v", n)
		}
	}
}

// What a session's end refuses it refuses to each, also if it is only now known.
func TestSharingWhenTheSessionIsOver(t *testing.T) {
	f := start(t)
	s, other := f.open(time.Minute), f.open(time.Minute)
	f.destroySession(s.id)
	outcomes := f.rush(nil, creating(within(t), s, "a"), creating(within(t), s, "b"), creating(within(t), other, "c"))
	wantIs(t, receive(t, "one of them", outcomes[0]), driver.ErrSessionLost)
	wantIs(t, receive(t, "the other", outcomes[1]), driver.ErrSessionLost)
	must(t, receive(t, "that of another session", outcomes[2]))
	f.wantKeys("a", 0)
	f.wantKeys("b", 0)
}

// The session is closed while its changes wait, and while they are under way.
func TestSessionClosesWhileItsChangesShare(t *testing.T) {
	for _, underWay := range []bool{false, true} {
		f := start(t)
		s := f.open(time.Minute)
		var shared *holding
		outcomes := f.rush(func() {
			if underWay {
				shared = hold("write", f.tap)
				return
			}
			must(t, s.Close(within(t)))
		}, creating(within(t), s, "a"), creating(within(t), s, "b"))
		if underWay {
			receive(t, "the shared transaction", shared.caught)
			must(t, s.Close(within(t)))
		}
		for _, outcome := range outcomes {
			wantIs(t, receive(t, "a call", outcome), driver.ErrClosed)
		}
		if underWay {
			wantRefused(t, shared)
		}
		f.wantKeys("a", 0)
		f.wantKeys("b", 0)
	}
}

func TestCloseWhileOthersWaitToShare(t *testing.T) {
	for _, underWay := range []bool{false, true} {
		f := start(t)
		s := f.open(time.Minute)
		closed := make(chan error, 1)
		var shared *holding
		outcomes := f.rush(func() {
			if underWay {
				shared = hold("write", f.tap)
				return
			}
			go func() { closed <- f.conn.Close() }()
			<-f.using.Done()
		}, creating(within(t), s, "a"), creating(within(t), s, "b"))
		if underWay {
			receive(t, "the shared transaction", shared.caught)
			go func() { closed <- f.conn.Close() }()
		}
		for _, outcome := range outcomes {
			wantIs(t, receive(t, "a call", outcome), driver.ErrClosed)
		}
		must(t, receive(t, "Close", closed))
		if underWay {
			wantRefused(t, shared) // the session is gone
		}
	}
}

// What is certain, of an answer to several, is that nothing was done: then each asks
// for itself. What is not is uncertain for each.
func TestAnswersToASharedTransaction(t *testing.T) {
	conflict, err := json.Marshal(api.TxnResponse{Errors: api.TxnErrors{{OpIndex: 1, What: "a bad day"}}})
	must(t, err)
	for _, tt := range []struct {
		status int
		body   string
		want   error // of each; nil: it succeeds by itself
	}{
		{409, string(conflict), nil},
		{409, "what is this", nil},
		{403, "Permission denied", nil},
		{413, "Request body too large", nil},
		{413, "Transaction contains too many operations (4 > 3)", nil},
		{429, "rate limit exceeded, try again later or against a different server", driver.ErrUnavailable},
		{500, "No cluster leader", driver.ErrUnavailable},
		{500, "raft apply failed: leadership lost while committing log", driver.ErrUncertain},
		{200, "what is this", driver.ErrUncertain},
		{200, `{"Results":[]}`, driver.ErrUncertain}, // it was done, and the answer was tampered with
	} {
		var alone atomic.Int32
		under, answer := make(chan struct{}), make(chan struct{})
		c := fake(t, defaultTiming, func(w http.ResponseWriter, r *http.Request) {
			var ops api.TxnOps
			if err := json.NewDecoder(r.Body).Decode(&ops); err != nil || len(ops) == 0 {
				t.Errorf("%d operations, %v", len(ops), err)
				return
			}
			key := ops[len(ops)-1].KV.Key
			switch {
			case strings.HasPrefix(key, "ns/ahead/"):
				close(under)
				<-answer
			case len(ops) > 3: // of a member there are three
				w.WriteHeader(tt.status)
				_, _ = w.Write([]byte(tt.body))
				return
			default:
				alone.Add(1)
			}
			_ = json.NewEncoder(w).Encode(api.TxnResponse{Results: api.TxnResults{
				{KV: &api.KVPair{Key: key, Session: someSession, CreateIndex: 7, ModifyIndex: 7}}}})
		})
		s := fakeSession(t, c)
		c.sharing.Limit = 1
		f := &fixture{conn: c, t: t}
		making := func(dir string) func() error {
			return func() error { _, err := s.Create(within(t), dir, "0", nil); return err }
		}
		ahead := calling(making("ahead"))
		receive(t, "the request ahead", under)
		outcomes := f.waitToShare(making("a"), making("b"))
		close(answer)
		must(t, receive(t, "the one ahead", ahead))
		for i, dir := range []string{"a", "b"} {
			err := receive(t, "a call", outcomes[i])
			if !errors.Is(err, tt.want) {
				t.Errorf("%d %s: the error is %v; want one that is %v", tt.status, tt.body, err, tt.want)
			}
			var e *driver.Error
			if tt.want != nil && (!asError(err, &e) || e.Op != "create" || e.Key != dir) {
				t.Errorf("%d %s: %v does not tell whose error it is", tt.status, tt.body, err)
			}
			_, doubt := s.fence.position(slot{dir, "0"})
			if doubt != (tt.want == driver.ErrUncertain) {
				t.Errorf("%d %s: in doubt: %v", tt.status, tt.body, doubt)
			}
		}
		if n := alone.Load(); (n == 2) != (tt.want == nil) || n > 2 {
			t.Errorf("%d %s: %d requests by themselves", tt.status, tt.body, n)
		}
	}
}

func TestSplit(t *testing.T) {
	kvs := func(keys ...string) (list []*api.KVPair) {
		for _, key := range keys {
			list = append(list, &api.KVPair{Key: key})
		}
		return list
	}
	for _, tt := range []struct {
		found string
		want  string // what each has found; "": it is not what they find
	}{
		{"f a/1 a/0 a/1 b/1 b/1 f d/1 d/1", "f a/1 a/0 a/1||b/1 b/1|f d/1 d/1"},
		{"f a/1 b/1 b/1 f d/1", "f a/1||b/1 b/1|f d/1"}, // trees of which nothing may be read
		{"f a/1 a/1 b/1 b/1 f d/1 d/1 e/1", ""},
		{"f a/1 a/1 b/1 f d/1 d/1", ""},
		{"f a/1 a/1 b/1 b/1 d/1 d/1", ""},
		{"a/1 a/1 b/1 b/1 f d/1", ""},
		{"f a/1 a/1 c/1 b/1 b/1 f d/1", ""},
		{"f a/1 a/1 b/1 b/1", ""},
		{"", ""},
	} {
		members := []*member{
			{ops: []*api.KVTxnOp{ifIndex("f", 5), unless("a/1"), lock("a/1", "s", nil), tree("a/")}},
			{ops: []*api.KVTxnOp{removeSame("c/1", 6)}},
			{ops: []*api.KVTxnOp{ifHeldBy("b/1", "s"), replace("b/1", 7, nil)}},
			{ops: []*api.KVTxnOp{ifIndex("f", 5), unless("d/1"), lock("d/1", "s", nil), tree("d/")}},
		}
		good := split(members, kvs(strings.Fields(tt.found)...))
		if good != (tt.want != "") {
			t.Errorf("%s: they are %v", tt.found, good)
		}
		if !good {
			continue
		}
		var each []string
		for _, m := range members {
			var keys []string
			for _, kv := range m.found {
				keys = append(keys, kv.Key)
			}
			each = append(each, strings.Join(keys, " "))
			if m.found == nil {
				t.Errorf("%s: one has found nil, which stands for nothing done", tt.found)
			}
		}
		if got := strings.Join(each, "|"); got != tt.want {
			t.Errorf("%s: split as %s; want %s", tt.found, got, tt.want)
		}
	}
}
