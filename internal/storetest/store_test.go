package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/mutex"
)

const (
	// patience bounds what must happen. It is reached only by what is broken.
	patience = 30 * time.Second

	patient = 30 * time.Second // the TTL of who shares a fault with the holder and must outlive it

	// enduring is the TTL of who must outlive, beside a fault, an election: on a
	// busy machine two members that are left may need several until they both keep up.
	enduring = time.Minute
)

// store is servers as the tests see them, whatever they are.
type store struct {
	cluster
	scheme   string
	members  []member
	ttl      time.Duration // of who is to lose what it holds
	machines *atomic.Int32 // how many addresses there are beside this machine's
	space    string        // the namespace

	partition parting // of the members, where they can be cut off from each other

	// left lists what clients have left in the store, when all are closed.
	left func(ctx context.Context) ([]string, error)

	// operator is one who looks after the store.
	operator func(t testing.TB) operator

	// frozenLeader says what comes of a leader that was frozen for longer than the
	// TTL and goes on, if the store itself then breaks what it promises.
	frozenLeader string
}

type cluster interface {
	Endpoints() []string
	Leader(ctx context.Context) (int, error)
	WaitHealthy(ctx context.Context) error
}

type member interface {
	Endpoint() string
	Kill() error
	Restart() error
	Freeze() error
	Thaw() error
}

func newStore(c cluster, scheme string, ttl time.Duration) *store {
	return &store{cluster: c, scheme: scheme, ttl: ttl, machines: new(atomic.Int32), space: "test"}
}

// in is the store with another namespace, for clients that are not to be told of what
// others do.
func (s *store) in(namespace string) *store {
	other := *s
	other.space = namespace
	return &other
}

// url names the store by the hosts of some of its members.
func (s *store) url(hosts ...string) string {
	return s.scheme + "://" + strings.Join(hosts, ",") + "/" + s.space
}

// hosts returns endpoints as URLs and proxies name them.
func hosts(endpoints ...string) []string {
	var list []string
	for _, e := range endpoints {
		list = append(list, strings.TrimPrefix(e, "http://"))
	}
	return list
}

// dial opens a client on hosts, and closes it when the test has mended what it
// broke.
func (s *store) dial(t testing.TB, ttl time.Duration, hosts ...string) *coord.Client {
	t.Helper()
	c, err := coord.Config{URL: s.url(hosts...), SessionTTL: coord.Duration(ttl)}.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.Background()
		if !t.Failed() { // then the store may still be broken
			if err := reached(ctx, c); err != nil {
				t.Errorf("finding the way back: %v", err)
			}
		}
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

// reached returns when a client has found its way back to the store: it may pause
// between attempts, and closing it waits for no more than one.
func reached(ctx context.Context, c *coord.Client) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		_, err := mutex.New(c, "whatever").Contenders(ctx)
		switch {
		case err == nil, errors.Is(err, coord.ErrClosed): // as the test wanted
			return nil
		case ctx.Err() != nil:
			return err
		}
	}
}

// wantNothingLeft wants nothing left in the store at the end of the test: after the
// clients that are dialed from here on were closed.
func (s *store) wantNothingLeft(t testing.TB) {
	t.Cleanup(func() { s.judgeRemains(t) })
}

func (s *store) judgeRemains(t testing.TB) {
	t.Helper()
	if left := s.remains(context.Background()); len(left) > 0 {
		t.Errorf("left in the store: %s", strings.Join(left, "; "))
	}
}

// remains lists what is left in the store, once nothing is or patience has ended: a
// server may notice late that a connection is closed, or a session has expired.
func (s *store) remains(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		left, err := s.left(ctx)
		if err == nil && len(left) == 0 {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			if err != nil {
				left = append(left, fmt.Sprintf("looking at the store: %v", err))
			}
			return left
		}
	}
}

// must ends the test for an error.
func must(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// await looks at the line from outside until it is as wanted.
func await(ctx context.Context, t testing.TB, m *mutex.Mutex, want func(coord.Contenders) bool) {
	t.Helper()
	for {
		c, err := m.Contenders(ctx)
		if err == nil && want(c) {
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			t.Fatalf("the line is %+v, %v", c, err)
		}
	}
}

func empty(c coord.Contenders) bool { return len(c.Holders)+len(c.Waiters) == 0 }

// leaked tells of goroutines that do not end.
func leaked(opts ...goleak.Option) (err error) {
	// Some of a connection that is closed take a few seconds.
	for end := time.Now().Add(patience); time.Now().Before(end); {
		if err = goleak.Find(opts...); err == nil {
			break
		}
	}
	return err
}

// TestMain wants no goroutine left when everything has ended.
func TestMain(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := leaked(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}
