package storetest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
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
	machines int           // how many addresses there are beside this machine's
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
	c, err := coord.Config{URL: s.scheme + "://" + strings.Join(hosts, ",") + "/test", SessionTTL: coord.Duration(ttl)}.Open(t.Context())
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

// wantNothingLeft has look, which says what is left in a store, say nothing at
// the end of the test: after the clients that are dialed from here on were
// closed.
func wantNothingLeft(t testing.TB, look func(ctx context.Context) (left string, err error)) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		for {
			left, err := look(ctx)
			if err == nil && left == "" {
				return
			}
			select { // a server may notice late that a connection is closed
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
				t.Errorf("left in the store: %s (%v)", left, err)
				return
			}
		}
	})
}

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
