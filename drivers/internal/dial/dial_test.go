package dial_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/drivers/internal/dial"
)

var errDead = errors.New("dead")

// network has names, and addresses of which none answers.
type network struct {
	names   map[string][]string
	dialed  []string
	lookups int
}

func (n *network) network() dial.Network {
	return dial.Network{
		Lookup: func(_ context.Context, host string) ([]string, error) {
			n.lookups++
			if len(n.names[host]) == 0 {
				return nil, errors.New("no such host")
			}
			return n.names[host], nil
		},
		Dial: func(_ context.Context, addr string) (net.Conn, error) {
			n.dialed = append(n.dialed, addr)
			return nil, errDead
		},
	}
}

func Example() {
	n := &network{names: map[string][]string{"zk.example": {"10.0.0.1"}}}
	rounds := dial.New(n.network(), []string{"zk.example:2181"}, time.Second)
	_, err := rounds.Open(context.Background(), time.Second)
	fmt.Println(n.dialed, err, rounds.Failed())
	// Output:
	// [10.0.0.1:2181] dead true
}

// A round tries each address of each host once, whatever is wrong with the others, and the
// next round asks for the names again.
func TestRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{names: map[string][]string{"a": {"1", "2", "3"}, "b": {"4"}}}
		r := dial.New(n.network(), []string{"a:1", "b:1", "unknown:1", "no port"}, time.Second)
		round := func() []string {
			n.dialed = nil
			for ended := false; !ended; ended = r.Failed() {
				if _, err := r.Open(t.Context(), time.Second); err == nil {
					t.Fatal("there is a connection")
				}
			}
			slices.Sort(n.dialed)
			return n.dialed
		}
		if got := round(); !slices.Equal(got, []string{"1:1", "2:1", "3:1", "4:1"}) || n.lookups != 3 {
			t.Errorf("dialed %v after %d lookups", got, n.lookups)
		}
		n.names["a"] = []string{"5"}
		if got := round(); !slices.Equal(got, []string{"4:1", "5:1"}) {
			t.Errorf("dialed %v after the name has another address", got)
		}
	})
}

// Attempts are at least Least apart, and rounds come more and more rarely.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{names: map[string][]string{"a": {"1"}}}
		r := dial.New(n.network(), []string{"a:1"}, time.Second)
		for i := range 12 {
			start := time.Now()
			_, _ = r.Open(t.Context(), time.Second)
			r.Failed()
			pause := max(min(dial.First<<max(i-1, 0), time.Second), dial.Least)
			if took := time.Since(start); i > 0 && (took < pause/2 || took > 3*pause/2) {
				t.Errorf("attempt %d came after %v; want %v, more or less by half", i, took, pause)
			}
		}
		r.Reset()
		start := time.Now()
		_, _ = r.Open(t.Context(), time.Second)
		if took := time.Since(start); took > dial.Least {
			t.Errorf("after a connection that lasted the next attempt took %v", took)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, _ = r.Open(ctx, time.Second)
	})
}

// Any tries each address once, begins with the one it is told, and does not rely on the
// order in which the resolver has them.
func TestAny(t *testing.T) {
	n := &network{names: map[string][]string{"a": {"3", "1", "2"}}}
	for first, want := range [][]string{{"1:7", "2:7", "3:7"}, {"2:7", "3:7", "1:7"}, {"3:7", "1:7", "2:7"}, {"1:7", "2:7", "3:7"}} {
		n.dialed, n.names["a"] = nil, []string{"3", "1", "2"}
		if _, err := n.network().Any(t.Context(), "a:7", uint64(first)); !errors.Is(err, errDead) || !slices.Equal(n.dialed, want) {
			t.Errorf("dialed %v, %v; want %v", n.dialed, err, want)
		}
	}
	for _, host := range []string{"unknown:7", "a"} {
		if conn, err := n.network().Any(t.Context(), host, 0); err == nil || conn != nil {
			t.Errorf("%s: connected", host)
		}
	}
}

// An address that does not answer leaves time for those that come after it.
func TestAnyGoesOnAfterASilentAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &network{names: map[string][]string{"a": {"1", "2"}}}
		silent := n.network()
		silent.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			if addr == "2:7" {
				here, _ := net.Pipe()
				return here, nil
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		conn, err := silent.Any(ctx, "a:7", 0)
		if err != nil {
			t.Fatal(err)
		}
		_ = conn.Close()
	})
}
