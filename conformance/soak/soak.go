package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance/harness"
	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/coord/driver"
)

// Result is what a run came to.
type Result struct {
	Seed    uint64
	Rounds  int
	Faults  map[string]int // how often each has happened
	Counts  history.Counts
	History *history.History
}

// String is one line.
func (r Result) String() string {
	faults := 0
	for _, n := range r.Faults {
		faults += n
	}
	return fmt.Sprintf("seed %d: %d rounds, %v, %d faults of %d kinds", r.Seed, r.Rounds, r.Counts, faults, len(r.Faults))
}

// shown is how many violations a failure explains; the others follow from the
// first more often than not.
const shown = 3

// Test runs, and fails t if a promise was broken or nothing happened that could
// be judged.
func Test(t testing.TB, h harness.Harness, o Options) Result {
	t.Helper()
	r, err := Run(t.Context(), h, o)
	if err != nil {
		t.Fatalf("seed %d: %v", r.Seed, err)
	}
	r.Judge(t)
	return r
}

// Judge fails t, as Test does, for what was found. It is for who runs without t, to look
// first whether the store itself was broken.
func (r Result) Judge(t testing.TB) {
	t.Helper()
	if text := r.Failure(); text != "" {
		t.Error(text)
		keep(t, r)
	}
}

// keep writes the whole log, for whoever tests with -artifacts.
func keep(t testing.TB, r Result) {
	t.Helper()
	name := filepath.Join(t.ArtifactDir(), "history.log")
	f, err := os.Create(name)
	if err != nil {
		t.Errorf("writing the log: %v", err)
		return
	}
	defer f.Close()
	if _, err := r.History.WriteTo(f); err != nil {
		t.Errorf("writing the log: %v", err)
	}
	t.Logf("all that happened is in %s, which stays with -artifacts", name)
}

// Failure says what is wrong with the run, or is empty.
func (r Result) Failure() string {
	all := r.History.Violations()
	if len(all) == 0 {
		if r.Counts.Granted == 0 {
			return fmt.Sprintf("%v: nothing was granted", r)
		}
		return ""
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%v: %d promises were broken\n", r, len(all))
	for i, v := range all[:min(len(all), shown)] {
		fmt.Fprintf(&text, "\n%d. ", i+1)
		_ = r.History.Explain(&text, v) // a Builder does not fail
	}
	return text.String()
}

// run is a run under way. Its methods are called on one goroutine, but for work.
type run struct {
	h       harness.Harness
	o       Options
	ns      string
	history *history.History
	clients []*client
	mix     *mix // of the round
	turns   turns
	limits  limits
	reasons atomic.Int64 // to ask somebody to let go
	result  Result

	observer driver.Conn // looks on
	foreign  int         // keys that are nobody's
}

// Run runs. The error says that it could not be done; what was found is in the
// result's history. ctx bounds it.
func Run(ctx context.Context, h harness.Harness, o Options) (Result, error) {
	h, err := h.Complete()
	if err != nil {
		return Result{}, err
	}
	o = o.complete(h)
	r := &run{
		h: h, o: o, ns: o.Namespace,
		history: history.New(history.Options{TTL: h.TTL, Late: o.late(), Exact: o.Exact}),
	}
	r.result = Result{Seed: o.Seed, Faults: make(map[string]int), History: r.history}
	for _, recipe := range o.Recipes {
		if len(recipe.Limits) > 0 {
			r.history.Limit(recipe.Name, recipe.Limits[0])
		}
	}
	defer r.discard()
	err = r.all(ctx)
	r.result.Counts = r.history.Counts()
	return r.result, err
}

func (r *run) all(ctx context.Context) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	for i := range r.o.Clients {
		if err := r.open(ctx, i); err != nil {
			return err
		}
	}
	for left := r.o.Duration; left > 0 && !r.broken(); left -= r.o.Round {
		r.result.Rounds++
		if err := r.round(ctx, min(left, r.o.Round)); err != nil {
			return err
		}
	}
	if !r.broken() {
		r.farewell(ctx)
	}
	return ctx.Err()
}

func (r *run) broken() bool {
	select { // not a wait: the default makes it a look
	case <-r.history.Broken():
		return true
	default:
		return false
	}
}

// round lets the clients work while faults happen, and settles.
func (r *run) round(ctx context.Context, d time.Duration) error {
	calls, giveUp := context.WithCancel(ctx)
	defer giveUp()
	stop := make(chan struct{})
	rng := rand.New(rand.NewPCG(r.o.Seed, uint64(r.result.Rounds)))
	r.mix = r.mixed(rng, append(r.faults(), r.clientFaults(func(i int) error {
		if err := r.open(ctx, i); err != nil {
			return fmt.Errorf("%w: %w", errNoClient, err)
		}
		r.employ(calls, r.clients[i], stop)
		return nil
	})...))
	r.limits.begin(r.history, r.o.Recipes)
	for _, c := range r.clients {
		r.well(c)
		r.employ(calls, c, stop)
	}
	failed := r.disturb(ctx, rng, d)
	close(stop)

	var workers sync.WaitGroup
	for _, c := range r.clients {
		workers.Go(c.workers.Wait)
	}
	// Every call that is still open when everything has been well for so long is
	// one that never comes to an end.
	patience, cancel := context.WithTimeout(ctx, r.patience())
	defer cancel()
	if !finished(patience, &workers) && ctx.Err() == nil {
		r.noteLines(ctx)
		r.history.Unresolved()
	}
	giveUp()
	r.ended("a call of a recipe", &workers)
	if failed != nil {
		return failed
	}
	if !r.broken() && ctx.Err() == nil {
		r.settle(ctx)
	}
	return ctx.Err()
}

// noteLines adds to the log what stands in the lines, for those who want to know why
// somebody waits.
func (r *run) noteLines(ctx context.Context) {
	for _, recipe := range r.o.Recipes {
		nodes, err := r.observer.List(ctx, recipe.Dir)
		r.history.Note("in the line of %s: %v (%v)", recipe.Name, keys(nodes), err)
	}
}

// patience is how long it takes until everybody has been served once all is
// well: what was lost has to expire, and some keep what they have until they are
// told to stop.
func (r *run) patience() time.Duration { return r.h.Expiry + 2*r.h.TTL + 10*time.Second }
