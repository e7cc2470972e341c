package peers_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/delay"
	"github.com/coordkit/coordkit/bench/peers"
	"github.com/coordkit/coordkit/bench/servers"
	"github.com/coordkit/coordkit/bench/work"
)

// Every client of every side uses TLS, and reaches each member by its proxy alone:
// no lock takes less than a round trip.
func TestEverySideTakesTheWayThatItIsGiven(t *testing.T) {
	const rtt = 20 * time.Millisecond
	for store, sides := range map[string][]contest.Side{
		servers.Etcd: peers.Etcd(), servers.ZooKeeper: peers.ZooKeeper(), servers.Consul: peers.Consul(),
	} {
		t.Run(store, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			s, err := servers.Start(ctx, store, 3, true)
			must(t, err)
			t.Cleanup(func() { must(t, s.Close()) })
			d := contest.Dial{TTL: work.TTL, TLS: s.TLS}
			for _, host := range s.Hosts {
				p, err := delay.Listen(host, rtt)
				must(t, err)
				t.Cleanup(func() { must(t, p.Close()) })
				d.Servers = append(d.Servers, p.Addr())
			}
			for _, side := range sides {
				if !side.Has(contest.Locks) {
					continue
				}
				got, err := work.Contention(3).Run(ctx, work.Turn{Side: side, Dial: d, Key: "key-" + side.Name, Length: work.Short, Servers: s.Hosts})
				if side.Close != nil {
					err = errors.Join(err, side.Close())
				}
				if err != nil || len(got.Latencies) == 0 || slices.Min(got.Latencies) < rtt {
					t.Errorf("%s: the shortest of %d locks is to take %v or more: %v", side.Name, len(got.Latencies), rtt, err)
				}
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
