package history_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/coordkit/coordkit/conformance/history"
)

// What led to a violation is printed with it, and how the hold began that it names, however
// much has happened since.
func TestExplainShowsWhatTheViolationNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := history.New(history.Options{TTL: ttl, Late: late})
		s := story{h, make(map[*history.Op]context.CancelFunc)}
		first := s.call("A")
		s.grant(first, 7)
		for i := range 100 {
			h.Note("fault %d", i)
		}
		s.grant(s.call("B"), 8)
		found := h.Violations()
		if len(found) != 1 {
			t.Fatalf("%d violations", len(found))
		}
		var text strings.Builder
		if err := h.Explain(&text, found[0]); err != nil {
			t.Fatal(err)
		}
		for _, part := range []string{" with token 7\n", "…\n", "fault 99\n"} {
			if !strings.Contains(text.String(), part) {
				t.Errorf("it does not print %q:\n%s", part, text.String())
			}
		}
		if strings.Contains(text.String(), "fault 50\n") {
			t.Errorf("it prints what has nothing to do with it:\n%s", text.String())
		}
		s.lose(first)
	})
}
