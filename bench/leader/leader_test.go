package leader_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/leader"
	"github.com/coordkit/coordkit/bench/peers"
)

var dial = contest.Dial{Servers: []string{"leaders"}, TTL: 10 * time.Second}

func TestMain(m *testing.M) {
	if leader.Main(func(string) []contest.Side { return peers.Embedded() }) {
		return
	}
	os.Exit(m.Run())
}

func Example() {
	kill, err := leader.Spawn(context.Background(), "mem", dial, contest.Ours, []string{"a", "b"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("a process leads a and b")
	fmt.Println("killed:", kill())
	// Output:
	// a process leads a and b
	// killed: <nil>
}

func TestKillAgain(t *testing.T) {
	kill, err := leader.Spawn(t.Context(), "mem", dial, contest.Ours, []string{"a"})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := kill(); err != nil {
			t.Error(err)
		}
	}
}

func TestWhoCannotLead(t *testing.T) {
	if _, err := leader.Spawn(t.Context(), "mem", dial, "nobody", []string{"a"}); err == nil {
		t.Error("nobody leads")
	}
}
