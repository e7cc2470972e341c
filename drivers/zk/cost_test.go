package zk

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/report"
)

type sent = map[string]int

// wantSent compares the requests that were sent.
func wantSent(t *testing.T, what string, got, want sent) {
	t.Helper()
	if !maps.Equal(got, want) {
		t.Errorf("%s: sent %v; want %v", what, got, want)
	}
}

// A renewal or a ping would be counted among the requests of a test, so its
// sessions are ones that last.
const long = 40 * time.Second

func TestRoundTrips(t *testing.T) {
	f := start(t)
	other := f.peer()
	s, o := f.open(long), other.open(long)
	f.create(s, "d", "bystander") // makes the directory
	_, err := s.List(within(t), "d")
	must(t, err)
	var n driver.Node
	wantSent(t, "create", f.tap.during(func() { n = f.create(s, "d", "0") }), sent{"multi": 1, "children": 1})
	wantSent(t, "update", f.tap.during(func() {
		_, err := s.Update(within(t), n, nil)
		must(t, err)
	}), sent{"multi": 1})
	wantSent(t, "list", f.tap.during(func() {
		_, err := s.List(within(t), "d")
		must(t, err)
	}), sent{"children": 1})
	wantSent(t, "list without a session", f.tap.during(func() {
		_, err := f.List(within(t), "d")
		must(t, err)
	}), sent{"multi": 1, "children": 1})
	wantSent(t, "delete", f.tap.during(func() { must(t, s.Delete(within(t), n)) }), sent{"delete": 1})
	n = f.create(s, "d", "0")
	wantSent(t, "abandon of what stands", f.tap.during(func() { must(t, s.Abandon(within(t), "d", "0")) }), sent{"delete": 1})
	wantSent(t, "abandon of what may be", f.tap.during(func() { must(t, s.Abandon(within(t), "d", "0")) }), sent{"multi": 1, "children": 1})

	theirs := other.create(o, "d", "0")
	var all []driver.Node
	wantSent(t, "create and list", f.tap.during(func() {
		var err error
		_, all, err = s.CreateList(within(t), "d", "0", nil)
		must(t, err)
	}), sent{"multi": 1, "children": 1}) // no data of theirs
	if len(all) != 3 || !all[1].Same(theirs) {
		t.Fatalf("listed %+v", all)
	}
	wantSent(t, "wait", f.tap.during(func() {
		wait := waiting(within(t), s, theirs)
		f.eventuallyArmed(s, theirs)
		must(t, o.Delete(within(t), theirs))
		must(t, receive(t, "the wait", wait))
	}), sent{"watch": 1})
	wantSent(t, "wait for what is gone", f.tap.during(func() { must(t, s.WaitDelete(within(t), theirs)) }), sent{"watch": 1})

	// A wait for one's own node and another's, which is gone first.
	theirs = other.create(o, "d", "0")
	own := f.create(s, "d", "1")
	wantSent(t, "wait for any of two", f.tap.during(func() {
		done := make(chan int, 1)
		go func() {
			i, err := s.WaitAny(within(t), []driver.Node{own, theirs})
			if err != nil {
				i = -1
			}
			done <- i
		}()
		f.eventuallyArmed(s, own, theirs)
		must(t, o.Delete(within(t), theirs))
		if i := receive(t, "the wait", done); i != 1 {
			t.Errorf("told of %d", i)
		}
	}), sent{"watch": 2})

	wantSent(t, "close", f.tap.during(func() { must(t, s.Close(within(t))) }), sent{"close": 1})
	wantSent(t, "open", f.tap.during(func() { f.open(long) }), sent{"create": 1})
}

// eventuallyArmed waits until the server has the watches of the nodes.
func (f *fixture) eventuallyArmed(s *session, nodes ...driver.Node) {
	f.t.Helper()
	eventually(f.t, "the watches are set", func() bool {
		h := s.link.watches
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, n := range nodes {
			if w := h.paths[n.Key]; w == nil || !w.armed {
				return false
			}
		}
		return true
	})
}

// Whoever joins a long line of this process's nodes reads none of them.
func TestCrowdOfOneProcess(t *testing.T) {
	f := start(t)
	s, o := f.open(long), f.open(long)
	f.create(s, "d", "bystander")
	_, err := s.List(within(t), "d")
	must(t, err)
	const many = 200
	got := f.tap.during(func() {
		var joining sync.WaitGroup
		for _, by := range []*session{s, o} {
			for i := range many / 2 {
				joining.Go(func() { f.create(by, "d", fmt.Sprint(i)) })
			}
		}
		joining.Wait()
	})
	if got["multi"] != many || got["children"] > 2*many || got["get"] != 0 {
		t.Errorf("%d joined with %v", many, got)
	}
	got = f.tap.during(func() {
		nodes, err := s.List(within(t), "d")
		must(t, err)
		if len(nodes) != many+1 {
			t.Errorf("%d nodes are listed", len(nodes))
		}
	})
	wantSent(t, "the list", got, sent{"children": 1})
}

// lateWriter is a connection whose Write of what holds text returns only when bytes of
// the server have been read after it, as on a machine that is busy.
type lateWriter struct {
	net.Conn
	text []byte
	read chan struct{}
}

func (c *lateWriter) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if bytes.Contains(b, c.text) {
		<-c.read
	}
	return n, err
}

func (c *lateWriter) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	select {
	case c.read <- struct{}{}:
	default:
	}
	return n, err
}

// The answer to a creation may come before the driver knows that the request was written.
func TestAnswerBeforeWriteReturns(t *testing.T) {
	f := start(t)
	dial := f.conn.peers.network.Dial
	f.conn.peers.network.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
		c, err := dial(ctx, addr)
		return &lateWriter{c, []byte("/d/"), make(chan struct{})}, err
	}
	other := f.peer()
	other.create(other.open(long), "d", "bystander") // makes the directory
	s := f.open(long)
	for i := range 5 {
		wantSent(t, "create", f.tap.during(func() { f.create(s, "d", fmt.Sprint(i)) }), sent{"multi": 1, "children": 1})
	}
}

// What a list costs after others have updated nodes, and after we have.
func TestListAfterUpdates(t *testing.T) {
	f := start(t)
	other := f.peer()
	s, o := f.open(long), other.open(long)
	var mine, theirs []driver.Node
	for i := range 5 {
		mine = append(mine, f.create(s, "d", fmt.Sprint(i)))
		theirs = append(theirs, other.create(o, "d", fmt.Sprint(i)))
	}
	look := func(what string, want sent, node driver.Node, data string) {
		t.Helper()
		var nodes []driver.Node
		wantSent(t, what, f.tap.during(func() {
			var err error
			nodes, err = s.List(within(t), "d")
			must(t, err)
		}), want)
		for _, n := range nodes {
			if n.Same(node) && string(n.Data) != data {
				t.Errorf("%s: the data are %q; want %q", what, n.Data, data)
			}
		}
	}
	_, err := s.List(within(t), "d")
	must(t, err)
	look("quiet", sent{"children": 1}, theirs[0], "0")
	_, err = s.Update(within(t), mine[2], []byte("mine"))
	must(t, err)
	look("our update", sent{"children": 1}, mine[2], "mine")
	_, err = s.Update(within(t), theirs[2], []byte("by another"))
	must(t, err)
	look("our update of another's", sent{"children": 1}, theirs[2], "by another")
	_, err = o.Update(within(t), theirs[3], []byte("theirs"))
	must(t, err)
	look("their update", sent{"children": 1, "get": 10}, theirs[3], "theirs")
	look("quiet again", sent{"children": 1}, theirs[3], "theirs")
}

// TestCostsOfALine shows what each turn costs when programs contend.
func TestCostsOfALine(t *testing.T) {
	const programs, turns = 8, 20
	f := start(t)
	var fixtures []*fixture
	var sessions []*session
	for range programs {
		p := f.peer()
		fixtures, sessions = append(fixtures, p), append(sessions, p.open(long))
	}
	var text strings.Builder
	total := make(sent)
	var taking sync.WaitGroup
	for _, f := range fixtures {
		for k, v := range f.tap.sent() {
			total[k] -= v
		}
	}
	begin := time.Now()
	for _, s := range sessions {
		taking.Go(func() {
			for range turns {
				n, all, err := s.CreateList(within(t), "d", "0", nil)
				if err == nil && !all[0].Same(n) {
					for i := len(all) - 1; i > 0; i-- {
						if all[i].Same(n) {
							_, err = s.WaitAny(within(t), []driver.Node{n, all[i-1]})
						}
					}
				}
				if err == nil {
					err = s.Delete(within(t), n)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	taking.Wait()
	took := time.Since(begin)
	for _, f := range fixtures {
		for k, v := range f.tap.sent() {
			total[k] += v
		}
	}
	fmt.Fprintf(&text, "%d programs, %d turns each, %.0f turns/s, requests a turn:", programs, turns, programs*turns/took.Seconds())
	for k, v := range total {
		fmt.Fprintf(&text, " %s %.2f", k, float64(v)/(programs*turns))
	}
	report.Show(t, "cost of a contended line", text.String())
}
