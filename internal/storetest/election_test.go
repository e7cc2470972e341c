package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/report"
	"github.com/coordkit/coordkit/internal/testserver"
)

func TestElectionOnEtcd(t *testing.T) {
	t.Parallel()
	electionOn(t, startEtcd(t, testserver.EtcdOptions{Members: 3}), "etcd")
}

func TestElectionOnZooKeeper(t *testing.T) {
	t.Parallel()
	electionOn(t, startZooKeeper(t, testserver.ZooKeeperOptions{Members: 3}), "ZooKeeper")
}

func TestElectionOnConsul(t *testing.T) {
	t.Parallel()
	s := startConsul(t, testserver.ConsulOptions{Members: 3, SessionTTLMin: consulTTL})
	electionOn(t, s, "Consul, where a session expires after two TTLs")
}

// electionOn has leaders that are processes meet with accidents, and observers
// see what comes of it.
func electionOn(t *testing.T, s *store, title string) {
	var clients []*coord.Client
	for range followers {
		clients = append(clients, s.dial(t, patient, hosts(s.Endpoints()...)...))
	}
	var all []handovers
	for _, a := range accidents {
		t.Run(a.name, func(t *testing.T) { all = append(all, a.try(t, s, clients)) })
	}
	showHandovers(t, title, s.ttl, all)
}

// showHandovers reports how long it took to the next leader's function, and the
// least time that it began after the end of its predecessor's context, where that
// could be told.
func showHandovers(t *testing.T, title string, ttl time.Duration, all []handovers) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%-42s %5s %10s %8s %8s %8s %12s\n", "from the accident to the next leader",
		"kept", "handovers", "minimum", "median", "maximum", "least margin")
	for _, h := range all {
		fmt.Fprintf(&b, "%-42s %5d %10d", h.name, h.kept, len(h.took))
		if v := slices.Sorted(slices.Values(h.took)); len(v) > 0 {
			for _, d := range []time.Duration{v[0], v[len(v)/2], v[len(v)-1]} {
				fmt.Fprintf(&b, " %8.2f", d.Seconds()/ttl.Seconds())
			}
		}
		if len(h.margins) > 0 {
			fmt.Fprintf(&b, " %12.2f", slices.Min(h.margins).Seconds()/ttl.Seconds())
		}
		fmt.Fprintln(&b)
	}
	report.Show(t, fmt.Sprintf("%s, three members: elections of processes, in TTLs of %v", title, ttl), b.String())
}
