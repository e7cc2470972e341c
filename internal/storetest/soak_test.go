package storetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/conformance/soak"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/report"
)

// soakFor is how long faults happen to the users of all recipes: longer where
// somebody has time for it.
func soakFor() time.Duration {
	if os.Getenv("COORDKIT_SOAK") != "" {
		return 10 * time.Minute
	}
	return time.Minute
}

// soakOn runs all recipes on a store under all faults, and fails the test for
// each promise that is broken.
func soakOn(t *testing.T, h conformance.Harness, faults ...soak.Fault) {
	t.Helper()
	start := time.Now()
	r, err := soak.Run(t.Context(), h, soak.Options{Duration: soakFor(), Faults: faults})
	must(t, fmt.Sprintf("seed %d", r.Seed), err)
	r.Judge(t)
	show(t, h.Name, r, start)
}

func show(t *testing.T, name string, r soak.Result, start time.Time) {
	t.Helper()
	var kinds []string
	for _, name := range slices.Sorted(maps.Keys(r.Faults)) {
		kinds = append(kinds, fmt.Sprintf("%s %d", name, r.Faults[name]))
	}
	report.Show(t, "random faults on "+name, fmt.Sprintf("%v, in %v\n%s", r, time.Since(start).Round(time.Second), strings.Join(kinds, ", ")))
}

// harness is the store as package conformance wants it, on all members. Clients
// go by the operator's ways.
func (s *store) harness(name string, expiry time.Duration, op operator) conformance.Harness {
	open := func(ctx context.Context, namespace string, hosts []string) (driver.Conn, error) {
		opener, err := driver.DefaultMux.Lookup(s.scheme)
		if err != nil {
			return nil, err
		}
		return opener.Open(ctx, driver.Target{Scheme: s.scheme, Hosts: hosts, Namespace: namespace, Logger: zap.NewNop()})
	}
	return conformance.Harness{
		Name: name, TTL: s.ttl, Expiry: expiry,
		Open: func(ctx context.Context, namespace string) (driver.Conn, error) { return open(ctx, namespace, op.ways) },
		OpenLink: func(ctx context.Context, namespace string) (driver.Conn, conformance.Link, error) {
			g, err := netfault.NewGroup(op.ways...)
			if err != nil {
				return nil, nil, err
			}
			c, err := open(ctx, namespace, g.Addrs())
			if err != nil {
				return nil, nil, errors.Join(err, g.Close())
			}
			return c, g, nil
		},
		Expire:     func(ctx context.Context, _ string, s driver.Session) error { return op.expire(ctx, s.ID()) },
		RemoveNode: func(ctx context.Context, _ string, n driver.Node) error { return op.removeNode(ctx, n.Key) },
		RemoveDir:  op.removeDir,
	}
}

// memberFaultsFor are those of the members of a cluster of three. A leader is
// frozen for less than frozenLeader, if that is not zero.
func (s *store) memberFaultsFor(frozenLeader time.Duration) []soak.Fault {
	victim := func(ctx context.Context, rng *rand.Rand, leader bool) (int, error) {
		i, err := s.Leader(ctx)
		if err == nil && !leader {
			i = (i + 1 + rng.IntN(len(s.members)-1)) % len(s.members)
		}
		return i, err
	}
	return []soak.Fault{
		s.broken("follower killed", kill, restart, 0, func(ctx context.Context, rng *rand.Rand) (int, error) { return victim(ctx, rng, false) }),
		s.broken("leader killed", kill, restart, 0, func(ctx context.Context, rng *rand.Rand) (int, error) { return victim(ctx, rng, true) }),
		s.broken("follower frozen", freeze, thaw, 0, func(ctx context.Context, rng *rand.Rand) (int, error) { return victim(ctx, rng, false) }),
		s.broken("leader frozen", freeze, thaw, frozenLeader, func(ctx context.Context, rng *rand.Rand) (int, error) { return victim(ctx, rng, true) }),
		s.broken("no majority", freezeOthers, thawOthers, frozenLeader, func(ctx context.Context, rng *rand.Rand) (int, error) { return victim(ctx, rng, false) }),
	}
}

// broken is a fault of members, for less than limit, if that is not zero.
func (s *store) broken(name string, cut, heal func(*store, int) error, limit time.Duration,
	choose func(context.Context, *rand.Rand) (int, error)) soak.Fault {
	return soak.Fault{Name: name, Do: func(ctx context.Context, rng *rand.Rand, atMost time.Duration) error {
		if limit > 0 {
			atMost = min(atMost, limit)
		}
		i, err := choose(ctx, rng)
		if err != nil {
			return err
		}
		err = cut(s, i)
		soak.Pause(ctx, soak.UpTo(rng, atMost))
		whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience) // it is put right in any case
		defer cancel()
		return errors.Join(err, heal(s, i), s.WaitHealthy(whole))
	}}
}
