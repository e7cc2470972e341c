package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/history"
	spoiled "github.com/coordkit/coordkit/conformance/internal/broken"
	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/conformance/soak"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/internal/report"
)

// The broken recipes of the suite are given to the soak too, which has to see
// those whose mistakes its clients can meet.
func TestSoakFindsBrokenRecipesOfTheSuite(t *testing.T) {
	var shown findings
	known := make(map[string]bool)
	sound := func(h conformance.Harness) conformance.Harness { return h }
	t.Run("each", func(t *testing.T) {
		for _, b := range suiteRecipes() {
			_, mistake, _ := strings.Cut(b.recipe.Name, " ")
			known[b.recipe.Name], known[mistake] = true, true
			if unmet[b.recipe.Name] != "" || unmet[mistake] != "" || unmetRules[b.breaks] != "" {
				continue
			}
			t.Run(b.recipe.Name, func(t *testing.T) {
				t.Parallel()
				n, v := soaked(t, attempts()[:16], sound, func(o *soak.Options) { o.Recipes = []soak.Recipe{b.recipe} })
				if v.Text == "" {
					t.Errorf("%d runs have not seen it: %s", n, b.doc)
				}
				shown.add(b.recipe.Name, n, v)
			})
		}
	})
	for name, why := range unmet {
		if !known[name] || why == "" {
			t.Errorf("%q is exempt for the reason %q; want a broken recipe, and a reason", name, why)
		}
	}
	report.Show(t, "what users of the suite's broken recipes see", shown.String())
}

// fromSuite is a broken recipe of the suite, as the soak uses it.
type fromSuite struct {
	recipe      soak.Recipe
	breaks, doc string
}

// suiteLine is the name of their lines.
const suiteLine = "Suite" // which differs from others in a capital

func suiteRecipes() (all []fromSuite) {
	for _, r := range spoiled.Mutexes() {
		w := func(c *coord.Client) subject.Want { return r.Open(c, suiteLine) }
		all = append(all, fromSuite{soak.Recipe{
			Name: "mutex " + r.Name, Dir: suiteDir("mutex"),
			Wants: []soak.Want{wanting(history.Exclusive, 0, w)}, Contenders: listing(w),
		}, r.Breaks, r.Doc})
	}
	for _, r := range spoiled.RWLocks() {
		lock := func(c *coord.Client) subject.ReadWrite { return r.Open(c, suiteLine) }
		read := func(c *coord.Client) subject.Want { return lock(c).Read }
		write := func(c *coord.Client) subject.Want { return lock(c).Write }
		all = append(all, fromSuite{soak.Recipe{
			Name: "rwlock " + r.Name, Dir: suiteDir("rwlock"),
			Wants: []soak.Want{
				wanting(history.Exclusive, 0, write), wanting(history.Shared, 0, read), downgrading(write, lock),
			},
			Contenders: listing(read),
		}, r.Breaks, r.Doc})
	}
	for _, r := range spoiled.Semaphores() {
		want := func(n int) func(c *coord.Client) subject.Want {
			return func(c *coord.Client) subject.Want { return r.Open(c, suiteLine, permits).Want(n) }
		}
		all = append(all, fromSuite{soak.Recipe{
			Name: "semaphore " + r.Name, Dir: suiteDir("semaphore"), Limit: permits,
			Wants: []soak.Want{
				wanting(history.Permits, 1, want(1)), wanting(history.Permits, 2, want(2)), wanting(history.Permits, permits, want(permits)),
			},
			Contenders: listing(want(1)),
		}, r.Breaks, r.Doc})
	}
	for _, r := range spoiled.Elections() {
		all = append(all, fromSuite{electing(r.Name, func(c *coord.Client) subject.Electing { return r.Open(c, suiteLine) }), r.Breaks, r.Doc})
	}
	return all
}

func suiteDir(kind string) string {
	dir, err := coord.Dir(kind, suiteLine)
	if err != nil { // of constants
		panic(err)
	}
	return dir
}

func listing(w func(*coord.Client) subject.Want) func(context.Context, *coord.Client) (coord.Contenders, error) {
	return func(ctx context.Context, c *coord.Client) (coord.Contenders, error) { return w(c).Contenders(ctx) }
}

// wanting makes a way to want something.
func wanting(kind history.Kind, permits int, w func(*coord.Client) subject.Want) soak.Want {
	held := func(h subject.Hold, err error) (soak.Hold, error) {
		if err != nil {
			return nil, err
		}
		return h, nil
	}
	return soak.Want{
		Kind: kind, Permits: permits,
		Acquire: func(ctx context.Context, c *coord.Client, _ *history.Op) (soak.Hold, error) {
			return held(w(c).Acquire(ctx))
		},
		Try: func(ctx context.Context, c *coord.Client, _ *history.Op) (soak.Hold, error) {
			return held(w(c).Try(ctx))
		},
	}
}

// downgrading is writing, and then reading.
func downgrading(write func(*coord.Client) subject.Want, lock func(*coord.Client) subject.ReadWrite) soak.Want {
	want := wanting(history.Exclusive, 0, write)
	want.Use = func(ctx context.Context, hold soak.Hold, op *history.Op) (soak.Hold, error) {
		op.Downgrading()
		h, err := lock(hold.Session().Client()).Downgrade(ctx, hold.(subject.Hold))
		if err != nil {
			op.NotDowngraded(err)
			return nil, nil
		}
		op.Downgraded(h)
		return h, nil
	}
	return want
}

// electing makes a recipe of an election.
func electing(name string, the func(*coord.Client) subject.Electing) soak.Recipe {
	campaign := func(ctx context.Context, op *history.Op, by func(context.Context, []byte) (subject.Leadership, error)) (soak.Hold, error) {
		value := op.ID() + " 0\n."
		op.Proclaiming(value)
		l, err := by(ctx, []byte(value))
		if err != nil {
			return nil, err
		}
		return l, nil
	}
	return soak.Recipe{
		Name: "election " + name, Dir: suiteDir("election"),
		Wants: []soak.Want{{
			Kind: history.Exclusive,
			Acquire: func(ctx context.Context, c *coord.Client, op *history.Op) (soak.Hold, error) {
				return campaign(ctx, op, the(c).Campaign)
			},
			Try: func(ctx context.Context, c *coord.Client, op *history.Op) (soak.Hold, error) {
				return campaign(ctx, op, the(c).TryCampaign)
			},
			Use: func(ctx context.Context, hold soak.Hold, op *history.Op) (soak.Hold, error) {
				return nil, proclaiming(ctx, the(hold.Session().Client()), hold.(subject.Leadership), op)
			},
		}},
		Contenders: func(ctx context.Context, c *coord.Client) (coord.Contenders, error) { return the(c).Candidates(ctx) },
		Follow: func(ctx context.Context, c *coord.Client, f func(token uint64, value string) bool) error {
			for o, err := range the(c).Observe(ctx) {
				if err != nil {
					return err
				}
				if !f(o.Leader.Token, string(o.Leader.Value)) {
					return nil
				}
			}
			return fmt.Errorf("it has ended and did not say why")
		},
	}
}

// proclaiming proclaims a second value and asks who leads.
func proclaiming(ctx context.Context, e subject.Electing, l subject.Leadership, op *history.Op) error {
	value := op.ID() + " 1\n."
	op.Proclaiming(value)
	if err := l.Proclaim(ctx, []byte(value)); err != nil {
		return awayOrNot(err)
	}
	op.Proclaimed()
	leader, err := e.Leader(ctx)
	if err != nil {
		return awayOrNot(err)
	}
	if leader.Token != l.Token() || string(leader.Value) != value {
		return fmt.Errorf("the leader shows as %d with the value %q; want %q", leader.Token, leader.Value, value)
	}
	return nil
}

// awayOrNot returns nil if err says that the store was away.
func awayOrNot(err error) error {
	if errors.Is(err, coord.ErrUnavailable) || errors.Is(err, coord.ErrUncertain) {
		return nil
	}
	return err
}
