package trial

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

const ttl = 2 * time.Second

var options = Options{Trials: 20, Sessions: 5, TTL: ttl, Patience: 10 * time.Second, Seed: 1}

// cast is who takes part in a fault on mem.
type cast struct {
	store  *mem.Store
	holder *mem.Conn
	Fault
}

// onMem has a fault of the holder's link, with what wrap makes of the holder's and
// the others' connections.
func onMem(t *testing.T, wrap func(driver.Conn) driver.Conn) cast {
	t.Helper()
	c := cast{store: mem.NewStore()}
	open := func(ttl time.Duration) (*mem.Conn, *coord.Client) {
		conn := c.store.Open("trial")
		client, err := coord.New(wrap(conn), coord.Config{SessionTTL: coord.Duration(ttl)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			_ = client.Close(ctx) // what a broken driver leaves is not of interest
		})
		return conn, client
	}
	var holder *coord.Client
	c.holder, holder = open(ttl)
	c.Fault = Fault{Store: "mem", Name: "link frozen", Holder: InProcess(holder)}
	_, c.Next = open(time.Minute)
	_, c.After = open(time.Minute)
	c.Cut = func(context.Context, Scene) error { c.holder.Link().Freeze(mem.Both); return nil }
	c.Heal = func(context.Context) error { return c.holder.Link().Heal() }
	return c
}

func asIs(c driver.Conn) driver.Conn { return c }

func run(t *testing.T, f Fault, o Options) Result {
	t.Helper()
	r, err := Run(t.Context(), f, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// good wants what a lock promises to be kept.
func good(t *testing.T, r Result, lost int) {
	t.Helper()
	if len(r.Broken) > 0 {
		t.Errorf("%d promises were broken, the first: %s", len(r.Broken), r.Broken[0])
	}
	if r.Trials != options.Trials || r.Lost < lost || r.Overlaps+r.Left+r.Unresolved+r.Overdue+r.Other > 0 {
		t.Errorf("\n%s", Table([]Result{r}))
	}
}

// TestFaultsOfALink has every holder but those that unlock early lose its lock.
func TestFaultsOfALink(t *testing.T) {
	for _, d := range []mem.Direction{mem.Up, mem.Down, mem.Both} {
		synctest.Test(t, func(t *testing.T) {
			c := onMem(t, asIs)
			c.Cut = func(context.Context, Scene) error { c.holder.Link().Freeze(d); return nil }
			r := run(t, c.Fault, options)
			good(t, r, options.Trials/2)
			if len(r.Margins) != r.Lost || slices.Min(r.Margins) <= 0 {
				t.Errorf("of %d losses, the margins are %v", r.Lost, r.Margins)
			}
		})
	}
}

func TestShortFault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := onMem(t, asIs)
		c.Lasts = ttl / 4
		r := run(t, c.Fault, options)
		good(t, r, 0)
		if r.Lost > 0 {
			t.Errorf("%d holders lost their locks in a fault of a quarter of the TTL", r.Lost)
		}
	})
}

// An operator ends sessions: two may hold a lock at a time, which is counted apart.
func TestOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := onMem(t, asIs)
		c.Settle, c.Outside = ttl*5/4, true
		c.Heal = func(context.Context) error { return nil }
		c.Cut = func(_ context.Context, s Scene) error {
			for _, l := range s.Locks {
				done := s.History.Ending(HolderName, l.Session)
				c.store.Expire(l.Session)
				done(nil)
			}
			return nil
		}
		good(t, run(t, c.Fault, options), options.Trials)
	})
}

// Every column is reached by a driver that breaks the promise.
func TestBrokenDrivers(t *testing.T) {
	for _, broken := range []struct {
		name  string
		wrap  func(driver.Conn) driver.Conn
		lasts time.Duration
		count func(Result) int
		text  string
	}{
		{"overlaps", tellsLate, 0, func(r Result) int { return r.Overlaps }, "was told nothing"},
		{"overlaps by the register", tellsLate, 0, func(r Result) int { return r.Overlaps }, "refused, holding the lock"},
		{"left", keepsEntries, ttl / 8, func(r Result) int { return r.Left }, "entries are left"},
		{"unresolved", waitsForEver, 0, func(r Result) int { return r.Unresolved }, "does not come to an end"},
		{"overdue", waitsLonger, 0, func(r Result) int { return r.Overdue }, "after its ctx had ended"},
		{"other, as somebody else loses the lock", endsEarly, 0, func(r Result) int { return r.Other }, "nothing has happened to it"},
		{"other", failsOddly, 0, func(r Result) int { return r.Other }, "for a reason that it should not"},
	} {
		t.Run(broken.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := onMem(t, broken.wrap).Fault
				f.Lasts, f.Settle = broken.lasts, 3*ttl
				r := run(t, f, options)
				if broken.count(r) == 0 || !strings.Contains(strings.Join(r.Broken, "\n"), broken.text) {
					t.Errorf("%d were found, among them not %q:\n%s%v", broken.count(r), broken.text, Table([]Result{r}), r.Broken)
				}
			})
		})
	}
}

// The same driver on a store that is said to end sessions by itself: excused.
func TestMayEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := onMem(t, tellsLate)
		c.MayEnd = "a known defect"
		r := run(t, c.Fault, options)
		if r.Overlaps > 0 || r.Excused == 0 || r.Why != c.MayEnd {
			t.Errorf("\n%s%q", Table([]Result{r}), r.Why)
		}
	})
}
