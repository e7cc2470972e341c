package random_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/conformance/harness"
	"github.com/coordkit/coordkit/conformance/internal/model"
	"github.com/coordkit/coordkit/conformance/internal/random"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// A report prints each step that the violation names, also those which Run has added at the
// end, and the directories by the names that they have in the store.
func TestReportPrintsWhatItNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := mem.NewStore()
		on := random.Store{
			Harness: harness.Harness{
				TTL: time.Second, Expiry: 2 * time.Second,
				Open: func(_ context.Context, namespace string) (driver.Conn, error) { return store.Open(namespace), nil },
			},
			Namespace: "report",
			Lag:       func(time.Time) time.Duration { return 0 },
		}
		p := random.Program{
			Links: []bool{false, false},
			Dirs:  []string{"", "b"},
			Waves: [][]random.Step{
				{{ID: 1, Op: model.OpenSession, Conn: 1, Session: 0}},
				{{ID: 2, Op: model.Create, Conn: 1, Session: 0, Dir: 1, Slot: "a"}},
			},
		}
		h, err := random.Run(t.Context(), on, p, "q107")
		if err != nil {
			t.Fatal(err)
		}
		var look, end *model.Call // the session's own look at the end, and its Close
		for _, c := range h.Calls {
			switch {
			case c.Op == model.List && c.Dir == "q107b":
				look = c
			case c.Op == model.Close && end == nil:
				end = c
			}
		}
		if look == nil || end == nil {
			t.Fatal("the session does not look at the end, or is not closed")
		}
		v := model.Violation{Rule: "L1", Call: look, Text: fmt.Sprintf("it is wrong, as #2 and %s show", end.Name)}
		text := random.Report(p, h, v)
		for _, want := range []string{
			"\n 2 #2   A.Create(\"q107b\", \"a\", no data)\n",
			fmt.Sprintf("\n   %-4s A.List(\"q107b\")\n", look.Name),
			fmt.Sprintf("\n   %-4s A.Close()\n", end.Name),
		} {
			if !strings.Contains(text, want) {
				t.Errorf("it does not print %q:\n%s", want, text)
			}
		}
		if strings.Contains(text, `"q"`) || strings.Contains(text, `"qb"`) {
			t.Errorf("it prints a directory by another name:\n%s", text)
		}
	})
}
