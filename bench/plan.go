package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/delay"
	"github.com/coordkit/coordkit/bench/peers"
	"github.com/coordkit/coordkit/bench/report"
	"github.com/coordkit/coordkit/bench/servers"
	"github.com/coordkit/coordkit/bench/work"
)

// plan is what a run does.
type plan struct {
	stores, cases, sides []string // cases and sides by the beginnings of their names
	members              []int
	networks             []report.Network
	pairs                int
	short                bool
}

// sides returns who can take part on a store.
func sides(store string) []contest.Side {
	switch store {
	case servers.Etcd:
		return peers.Etcd()
	case servers.ZooKeeper:
		return peers.ZooKeeper()
	case servers.Consul:
		return peers.Consul()
	}
	return nil
}

// mainCases are those that show most in little time. -cases calls them main.
var mainCases = []string{"uncontended", "contention-2", "contention-8", "contention-32", "drain-20", "keys-64", "semaphore-10"}

// wants reports whether a case is to be run. Unless it is asked for by its name,
// a short run has the main ones only. Runs on three members leave out what a key that was
// used for long costs, which is a matter of each server's own store, and takes long.
func (p plan) wants(c work.Case, members int) bool {
	switch {
	case len(p.cases) > 0:
		return begins(c.Name, p.cases)
	case p.short:
		return slices.Contains(mainCases, c.Name)
	}
	return members == 1 || c.Name != work.Worn().Name
}

// turns is how many turns each side has in a case.
func (p plan) turns(c work.Case) int {
	switch {
	case c.Once:
		return 1
	case c.Near && !p.short:
		return 2 * p.pairs
	}
	return p.pairs
}

// countedInShort are the cases of which a short run counts the requests.
var countedInShort = []string{"uncontended", "contention-2", "contention-8"}

// counts reports whether the requests of a case are counted, which takes a turn
// more. With TLS they cannot be read.
func (p plan) counts(c work.Case, n report.Network) bool {
	return !n.TLS && (!p.short || len(p.cases) > 0 || slices.Contains(countedInShort, c.Name))
}

// check finds what is asked for and does not exist. rest is what no flag has taken.
func (p plan) check(rest []string) error {
	if len(rest) > 0 {
		return fmt.Errorf("%q: there are flags only", rest)
	}
	if len(p.stores) == 0 {
		return fmt.Errorf("-stores is empty: there are %s", strings.Join(servers.Names(), ", "))
	}
	if len(p.members) == 0 {
		return errors.New("-members is empty: 1 or 3, or both")
	}
	if len(p.networks) == 0 {
		return errors.New("-networks is empty: loopback, or a round trip such as 1ms")
	}
	for i, n := range p.networks {
		if slices.Contains(p.networks[:i], n) {
			return fmt.Errorf("-networks: %s is there twice", n.Name())
		}
	}
	var cases, names []string
	for _, c := range work.Cases(0) {
		cases = append(cases, c.Name)
	}
	for _, store := range p.stores {
		if !slices.Contains(servers.Names(), store) {
			return fmt.Errorf("-stores %q: there are %s", store, strings.Join(servers.Names(), ", "))
		}
		var of []string
		for _, s := range sides(store) {
			of = append(of, s.Name)
		}
		if !slices.ContainsFunc(of, func(name string) bool { return begins(name, p.sides) }) {
			return fmt.Errorf("-sides %q: on %s there are %s", strings.Join(p.sides, ","), store, strings.Join(of, ", "))
		}
		names = append(names, of...)
	}
	for _, asked := range []struct {
		flag             string
		wanted, existing []string
	}{{"-cases", p.cases, cases}, {"-sides", p.sides, names}} {
		for _, w := range asked.wanted {
			if !slices.ContainsFunc(asked.existing, func(name string) bool { return begins(name, []string{w}) }) {
				return fmt.Errorf("%s %q: there are %s", asked.flag, w, strings.Join(asked.existing, ", "))
			}
		}
	}
	return nil
}

// begins reports whether a name begins as one of a list says, where a name that
// ends in the list's entry is that one and no other.
func begins(name string, list []string) bool {
	return len(list) == 0 || slices.ContainsFunc(list, func(b string) bool {
		return strings.HasPrefix(name, b) && (!endsInDigit(b) || len(name) == len(b))
	})
}

func endsInDigit(s string) bool { return s != "" && s[len(s)-1] >= '0' && s[len(s)-1] <= '9' }

// run does it all, as far as it can: what fails is written down, and the rest goes
// on. save is called when there is something new in the report.
func (p plan) run(ctx context.Context, r *report.Run, save func() error) error {
	var failed []error
	for _, members := range p.members {
		for _, store := range p.stores {
			for _, n := range p.networks {
				if err := p.on(ctx, store, members, n, r, save); err != nil {
					failed = append(failed, fmt.Errorf("%s with %d members, %s: %w", store, members, n.Name(), err))
				}
				if ctx.Err() != nil {
					return errors.Join(failed...)
				}
			}
		}
	}
	return errors.Join(failed...)
}

// on runs the cases on one store over one network, on servers that it starts and ends.
func (p plan) on(ctx context.Context, store string, members int, n report.Network, r *report.Run, save func() error) (err error) {
	s, err := servers.Start(ctx, store, members, n.TLS)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	in := venue{Store: s, addrs: s.Hosts, members: members, network: n, plan: p, sides: sides(store)}
	if n.RTT > 0 {
		proxies, err := delay.Start(ctx, n.Delay(), s.Hosts)
		if err != nil {
			return err
		}
		defer func() { _ = proxies.Close() }() // nothing is left to lose
		in.addrs = proxies.Addrs
	}
	defer func() {
		for _, side := range in.sides {
			if side.Close != nil {
				err = errors.Join(err, side.Close())
			}
		}
	}()
	r.Versions[report.StoreName(store)+" server"] = s.Version
	in.warmUp(ctx)
	ends := ctx
	if p.short {
		var cancel context.CancelFunc
		ends, cancel = context.WithDeadline(ctx, r.Began.Add(shortRun))
		defer cancel()
	}
	for _, c := range work.Cases(s.FailoverTTL()) {
		if !p.wants(c, members) {
			continue
		}
		found := in.contest(ends, c)
		if ends.Err() != nil && ctx.Err() == nil { // what was seen of it is nothing
			r.Left = append(r.Left, fmt.Sprintf("%s with %d members, %s: %s", store, members, n.Name(), c.Name))
			continue
		}
		r.Contests = append(r.Contests, found)
		for _, side := range in.sides {
			if side.Version != nil && side.Version() != "" {
				r.Versions[side.Name] = strings.TrimPrefix(side.Version(), side.Name+" ")
			}
		}
		if err := save(); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	return nil
}

// shortRun is when a short run, which is to end within five minutes, gives up what
// it has not measured.
const shortRun = 4*time.Minute + 40*time.Second
