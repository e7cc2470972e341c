package conformance_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/report"
)

// memHarness is a harness for the reference driver with everything in it. Each
// namespace gets a store of its own, so that what a store counts is what the
// namespace holds.
func memHarness(ttl time.Duration) conformance.Harness {
	var mu sync.Mutex
	stores := make(map[string]*mem.Store)
	store := func(namespace string) *mem.Store {
		mu.Lock()
		defer mu.Unlock()
		if stores[namespace] == nil {
			stores[namespace] = mem.NewStore()
		}
		return stores[namespace]
	}
	return conformance.Harness{
		Name:   "mem",
		TTL:    ttl,
		Expiry: ttl + time.Second,
		Open: func(_ context.Context, namespace string) (driver.Conn, error) {
			return store(namespace).Open(namespace), nil
		},
		OpenLink: func(_ context.Context, namespace string) (driver.Conn, conformance.Link, error) {
			c := store(namespace).Open(namespace)
			return c, memLink{c.Link()}, nil
		},
		Hold: func(l conformance.Link) func() { return l.(memLink).Hold().Release },
		Expire: func(_ context.Context, namespace string, s driver.Session) error {
			return found(store(namespace).Expire(s.ID()), "session", s.ID())
		},
		RemoveNode: func(_ context.Context, namespace string, n driver.Node) error {
			return found(store(namespace).Remove(namespace, n.Dir, n.Key), "node", n.Key)
		},
		RemoveDir: func(_ context.Context, namespace, dir string) error {
			mu.Lock()
			below := stores[namespace+"/"+dir]
			mu.Unlock()
			if below != nil {
				below.RemoveNamespace(namespace + "/" + dir)
			} else {
				store(namespace).RemoveDir(namespace, dir)
			}
			return nil
		},
		PlantForeign: func(_ context.Context, namespace, dir string) error {
			for _, key := range []string{"readme", "0", "a/b", namespace + "/" + dir + "/1-", namespace + "/" + dir + "/zz-0"} {
				store(namespace).PutForeign(namespace, dir, key)
			}
			return nil
		},
		NearWrap: conformance.WideCounter,
		Compact:  conformance.NoHistory,
		Residue: func(_ context.Context, namespace string) (conformance.Residue, error) {
			s := store(namespace).Stats()
			return conformance.Residue{Keys: s.Nodes + s.Foreign, Dirs: s.Dirs, Sessions: s.Sessions, Watches: s.Watches, Conns: s.Conns}, nil
		},
		BadTTL: []time.Duration{time.Nanosecond, mem.MinTTL - 1, mem.MaxTTL + 1},
	}
}

// relink has every link of the harness, with the connection over it, be another.
func relink(h *conformance.Harness, wrap func(driver.Conn, conformance.Link) (driver.Conn, conformance.Link)) {
	open := h.OpenLink
	h.Hold = nil // which is for links of the store's own
	h.OpenLink = func(ctx context.Context, namespace string) (driver.Conn, conformance.Link, error) {
		c, l, err := open(ctx, namespace)
		if err != nil {
			return nil, nil, err
		}
		c, l = wrap(c, l)
		return c, l, nil
	}
}

func found(ok bool, what, name string) error {
	if !ok {
		return fmt.Errorf("mem: there is no %s %s", what, name)
	}
	return nil
}

// memLink is a mem.Link with the directions of netfault.
type memLink struct{ *mem.Link }

func (l memLink) Freeze(d netfault.Direction) { l.Link.Freeze(mem.Direction(d)) }

// Stats counts each request as a read of the network.
func (l memLink) Stats() netfault.Stats {
	return netfault.Stats{Up: netfault.Flow{Reads: l.Requests()}}
}

// Reject refuses requests, as there are no connections to be reset.
func (l memLink) Reject() { l.Cut() }

func (l memLink) Delay(d netfault.Direction, delay time.Duration) {
	l.Link.Delay(mem.Direction(d), delay)
}

// The reference driver holds every rule, and every rule is verified on it.
func TestMem(t *testing.T) {
	found := conformance.Run(t, memHarness(3*time.Second))
	for _, r := range found.Results {
		if r.Status != conformance.Passed {
			t.Errorf("%s %v: %s", r.Rule.ID, r.Status, r.Detail)
		}
	}
	var table strings.Builder
	if _, err := found.WriteTo(&table); err != nil {
		t.Fatal(err)
	}
	report.Show(t, "conformance of mem", table.String())
	report.Row(t, "rules that hold, by group", found.Harness, found.Groups())
}
