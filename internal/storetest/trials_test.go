package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coordkit/coordkit/internal/report"
	"github.com/coordkit/coordkit/internal/storetest/trial"
	"github.com/coordkit/coordkit/internal/testserver"
)

// fault is a kind of fault, for a row of the table of trials.
type fault struct {
	name  string
	alone bool // it disturbs everybody, so it happens by itself
	make  func(t *testing.T, s *store, rng *rand.Rand) trial.Fault
}

// venue is a store with what happens on it.
type venue struct {
	name   string
	start  func(t *testing.T) *store
	most   int       // locks at a time, so that the servers keep up
	groups [][]fault // those of a group happen at the same time, unless they are to be alone
}

// venues are all stores, single and with three members.
func venues() []venue {
	with := func(more ...[]fault) [][]fault {
		return append([][]fault{linkFaults, briefLinkFaults, operatorFaults, processFaults}, more...)
	}
	single, three := members(serverFaults), members(memberFaults)
	return []venue{
		{"etcd", func(t *testing.T) *store { return startEtcd(t, testserver.EtcdOptions{}) }, 400, with(single)},
		{"etcd, 3 members", startPartedEtcd, 400, with(three, isolations)},
		{"ZooKeeper", func(t *testing.T) *store { return startZooKeeper(t, testserver.ZooKeeperOptions{}) }, 200, with(single)},
		{"ZooKeeper, 3 members", startPartedZooKeeper, 200, with(three, isolations)},
		{"Consul", func(t *testing.T) *store {
			return startConsul(t, testserver.ConsulOptions{SessionTTLMin: consulTTL})
		}, 100, with(single)},
		{"Consul, 3 members", startPartedConsul, 100, with(three, isolations)},
		// With the shortest TTL that Consul grants unless told otherwise.
		{"Consul, TTL 10 s", func(t *testing.T) *store {
			s := startConsul(t, testserver.ConsulOptions{Dev: true})
			s.ttl = consulDefaultTTL
			return s
		}, 100, [][]fault{linkFaults}},
	}
}

func members(all []memberFault) (faults []fault) {
	for _, m := range all {
		faults = append(faults, m.fault())
	}
	return faults
}

// How many trials there are together, and how many sessions hold the locks.
const (
	fewTrials = 400
	sessions  = 10
)

// setting reads a number from the environment.
func setting(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(cmp.Or(os.Getenv(name), fmt.Sprint(otherwise)), 10, 64)
	if err != nil || n == 0 {
		t.Fatalf("%s is %q; want a positive number", name, os.Getenv(name))
	}
	return n
}

// TestTrials has many locks go through every fault on every store, and prints one
// table. COORDKIT_TRIALS says how many trials, COORDKIT_SEED repeats the choices of a
// run, and COORDKIT_FAULTS is a regular expression that "store: fault" has to match.
func TestTrials(t *testing.T) {
	p := &plan{seed: setting(t, "COORDKIT_SEED", rand.Uint64N(1<<32)+1)}
	wanted, err := regexp.Compile(os.Getenv("COORDKIT_FAULTS"))
	must(t, "COORDKIT_FAULTS", err)
	faults := 0
	all := slices.DeleteFunc(venues(), func(v venue) bool {
		n := 0
		for i, group := range v.groups {
			group = slices.DeleteFunc(slices.Clone(group), func(f fault) bool { return !wanted.MatchString(v.name + ": " + f.name) })
			v.groups[i] = group
			n += len(group)
		}
		faults += n
		return n == 0
	})
	if faults == 0 {
		t.Fatalf("COORDKIT_FAULTS is %q, which matches no fault", wanted)
	}
	p.each = (int(setting(t, "COORDKIT_TRIALS", fewTrials)) + faults - 1) / faults
	start := time.Now()
	t.Run("on", func(t *testing.T) { // returns when all have
		for _, v := range all {
			t.Run(v.name, func(t *testing.T) {
				t.Parallel()
				p.try(t, v)
			})
		}
	})
	p.show(t, fmt.Sprintf("%d faults of %d trials each, seed %d, in %v", faults, p.each, p.seed, time.Since(start).Round(time.Second)))
}

// show prints the table, and what it comes to by store and by fault.
func (p *plan) show(t *testing.T, title string) {
	rows := p.sorted()
	report.Show(t, "trials: "+title, trial.Table(rows))
	report.Show(t, "by store", trial.Table(trial.Merge(rows, func(r trial.Result) (string, string) { return r.Store, "" })))
	report.Show(t, "by fault", trial.Table(trial.Merge(rows, func(r trial.Result) (string, string) { return "", r.Fault })))
	why := make(map[string]int)
	for _, r := range rows {
		if r.Excused > 0 {
			why[r.Why] += r.Excused
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(why)) {
		report.Show(t, fmt.Sprintf("in %d trials two held a lock, ordered by their tokens", why[reason]), reason)
	}
}

// plan is what TestTrials does, and what it has found.
type plan struct {
	seed uint64
	each int // trials of each fault

	mu      sync.Mutex
	results []*trial.Result // in the order of their first trials
}

// try tries a store.
func (p *plan) try(t *testing.T, v venue) {
	s := v.start(t)
	for _, group := range v.groups {
		var together []fault
		for _, f := range group {
			if f.alone {
				if !p.until(t, v, s, f) {
					return // the store may not have been mended
				}
			} else {
				together = append(together, f)
			}
		}
		if len(together) > 0 && !p.until(t, v, s, together...) {
			return
		}
	}
}

// until repeats faults until each has had its trials. A slow machine costs trials their
// holders before the fault: then fewer go through it at a time.
func (p *plan) until(t *testing.T, v venue, s *store, faults ...fault) bool {
	had := func() int {
		least := p.each
		for _, f := range faults {
			least = min(least, p.result(v.name, f.name).Trials)
		}
		return least
	}
	const attempts = 6
	n := max(1, v.most/len(faults))
	for round, vain := 0, 0; had() < p.each && vain < attempts; round++ {
		before := had()
		if !p.once(t, v, s, min(n, p.each-before), round, faults...) {
			return false
		}
		if had() == before {
			vain, n = vain+1, max(1, n/2)
		}
	}
	if n := had(); n < p.each {
		t.Errorf("%s, %s: %d trials came about; want %d", v.name, faults[0].name, n, p.each)
	}
	return true
}

// once has n locks go through each of the faults at the same time. It reports whether
// all is well afterwards.
func (p *plan) once(t *testing.T, v venue, s *store, n, round int, faults ...fault) bool {
	start := time.Now()
	mended := false
	t.Run(strings.ReplaceAll(faults[0].name, " ", "_"), func(t *testing.T) {
		var running sync.WaitGroup
		var failed atomic.Bool
		for i, f := range faults {
			h := fnv.New64a()
			fmt.Fprint(h, v.name, f.name, round)
			seed := p.seed ^ h.Sum64()
			made := f.make(t, s.in(fmt.Sprintf("test/%d", i)), rand.New(rand.NewPCG(seed, 1)))
			made.Store, made.Name = v.name, f.name
			running.Go(func() {
				r, err := trial.Run(t.Context(), made, trial.Options{
					Trials: n, Sessions: min(n, sessions), TTL: s.ttl, Patience: 2 * patience, Seed: seed,
				})
				p.add(t, r)
				if errors.Is(err, trial.ErrNotBegun) {
					t.Logf("%s: %v", f.name, err) // the plan wants trials to come about in the end
				} else if err != nil {
					t.Errorf("%s: %v", f.name, err)
					failed.Store(true)
				}
			})
		}
		running.Wait()
		mended = !failed.Load()
	})
	if left := s.remains(context.Background()); len(left) > 0 {
		p.add(t, trial.Result{Store: v.name, Fault: faults[0].name, Left: len(left), Broken: []string{
			fmt.Sprintf("left in the store after %s: %s", faults[0].name, strings.Join(left, "; "))}})
	}
	t.Logf("%s: %d trials of %s (and %d faults beside it) in %v", v.name, n, faults[0].name, len(faults)-1, time.Since(start).Round(100*time.Millisecond))
	return mended
}

// shown is how many broken promises of a fault are explained.
const shown = 3

// add counts a result, and fails the test for each promise that was broken.
func (p *plan) add(t *testing.T, r trial.Result) {
	t.Helper()
	for i, broken := range r.Broken {
		if i < shown {
			t.Errorf("%s, %s: %s", r.Store, r.Fault, broken)
		}
	}
	if n := len(r.Broken); n > shown {
		t.Errorf("%s, %s: %d more promises were broken", r.Store, r.Fault, n-shown)
	}
	p.result(r.Store, r.Fault).Add(r)
}

// result returns a row.
func (p *plan) result(store, fault string) *trial.Result {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.results {
		if r.Store == store && r.Fault == fault {
			return r
		}
	}
	r := &trial.Result{Store: store, Fault: fault}
	p.results = append(p.results, r)
	return r
}

// sorted returns the rows, those of a store together.
func (p *plan) sorted() (rows []trial.Result) {
	for _, v := range venues() {
		for _, r := range p.results {
			if r.Store == v.name {
				rows = append(rows, *r)
			}
		}
	}
	return rows
}
