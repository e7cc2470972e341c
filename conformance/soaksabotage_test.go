package conformance_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/history"
	"github.com/coordkit/coordkit/conformance/internal/sabotage"
	"github.com/coordkit/coordkit/conformance/soak"
	"github.com/coordkit/coordkit/internal/report"
)

// attempt is a run of the soak on something broken.
type attempt struct {
	options soak.Options
	plain   bool // without the driver's fast paths
}

// attempts are the runs that something broken has to survive none of, with fixed
// seeds. Some mistakes show only where many share a session, or in a line that is
// long, or where no fast path is taken.
func attempts() (all []attempt) {
	const most = 80 // the rarest take some ten
	for i := range most {
		a := attempt{soak.Options{Duration: 2 * time.Minute, Exact: true, Seed: uint64(i + 1)}, i%2 == 1}
		switch i % 6 {
		case 2, 3:
			a.options.Clients, a.options.Workers = 2, 12
		case 4:
			a.options.Clients, a.options.Workers, a.options.Recipes = 2, 110, soak.Recipes()[:1]
		}
		all = append(all, a)
	}
	return all
}

// soaked makes attempts on a driver until one finds a violation, and returns how
// many it took, and the violation.
func soaked(t *testing.T, sabotage func(conformance.Harness) conformance.Harness, change func(*soak.Options)) (n int, found history.Violation) {
	t.Helper()
	for i, a := range attempts() {
		synctest.Test(t, func(t *testing.T) {
			sound, end := closing(memHarness(time.Second))
			h := sabotage(sound)
			if a.plain {
				h = plain(h)
			}
			change(&a.options)
			ctx, cancel := context.WithCancel(t.Context())
			r, err := soak.Run(ctx, h, a.options)
			if err != nil {
				found = history.Violation{Text: fmt.Sprintf("not even a run is possible: %v", err)}
			} else if all := r.History.Violations(); len(all) > 0 {
				found = all[0]
			}
			cancel()
			end()
			// What is broken may have begun something that ends by itself, late.
			time.Sleep(24 * time.Hour)
		})
		if found.Text != "" {
			return i + 1, found
		}
	}
	return len(attempts()), found
}

// What is wrong with a driver and cannot be seen by those who use the recipes on
// it, and why: by name.
var unseen = map[string]string{
	// S1, S5, N1: package coord does it for the driver.
	"done-after-the-answer":     "coord ends the holds before it closes a session",
	"connection-closed-first":   "coord closes the sessions before the connection",
	"waits-left":                "likewise",
	"close-waits-for-the-store": "coord does not wait for longer than its ctx",
	"calls-after-close":         "coord makes no call after Close",
	"goroutine-left":            "a goroutine too many is seen by nobody",

	"opening-counted-from-receipt": "rarely seen: the first renewal mends it",
	"replaced-silently":            "rarely seen: coord has opened another session by then",

	// S7, F3, E3: nobody asks.
	"ttl-lies":                  "recipes take the TTL for pauses only",
	"ttl-clamped":               "everybody asks for a TTL that is granted",
	"ttl-refused-without-range": "likewise",
	"caps-without-interface":    "nobody requires a capability",
	"interface-without-caps":    "likewise",
	"caps-without-watch":        "likewise",
	"watch-without-caps":        "likewise",

	"patient-create":      "there is no other server to ask",
	"patient-create-list": "likewise",
	"patient-update":      "likewise",
	"patient-delete":      "likewise",
	"patient-abandon":     "likewise",
	"patient-list":        "likewise",

	// C2, C4: package queue leaves it little room.
	"created-anew":       "who has lost a reply does not know what place it had",
	"nothing-to-abandon": "it costs a slot, which nobody counts",
	"abandon-by-delete":  "rarely seen: the slot is mostly used again before the late request lands",
	"late-abandon":       "rarely seen, likewise",

	// C8: what recipes refuse, or do not do.
	"data-too-long-taken": "recipes refuse it first",
	"data-not-copied":     "recipes do not change what they have given away",

	// W, U, E, F: package queue makes sure by itself.
	"nil-for-the-lost":          "the queue asks the session before it grants",
	"watch-left":                "a watch too many is seen by the store alone",
	"update-moves-the-node":     "the queue keeps the node as it was created",
	"unfenced-delete":           "the queue deletes nothing whose slot may be used again",
	"unfenced-update":           "nor does it update it",
	"late-update":               "rarely seen, likewise",
	"late-update-undoes":        "rarely seen: the last value has to be written while an earlier one is on its way",
	"one-update-remembered":     "rarely seen, likewise",
	"lost-reply-unavailable":    "the queue sees the unknown outcome in the cause",
	"names-with-anybodys-data":  "the queue takes names from such a list and nothing else",
	"names-without-the-session": "likewise",
	"cause-dropped":             "coord adds the error of the ctx",
	"wait-says-closed":          "the queue looks at the ctx itself",
	"last-of-those-together":    "who is in a line that is removed is excused",

	// V: package coord has one watch of a directory, ends it itself, and shows what
	// is the latest when an observer looks.
	"updates-unseen":                "the next change, which is soon, shows it",
	"gap-unseen":                    "likewise",
	"slot-unseen":                   "no two entries have the same data",
	"missed-while-busy":             "coord is never busy",
	"one-watch-told":                "coord has only one",
	"two-readers":                   "the latest state follows at once",
	"older-after-a-reset":           "likewise",
	"replayed-after-silence":        "likewise",
	"empty-while-away":              "likewise",
	"backlog-overflows":             "rarely seen: so many changes are rare",
	"compaction-unforeseen":         "nobody compacts",
	"ends-without-an-error":         "it is coord that ends the watch, and knows why",
	"watch-waits-for-the-link":      "likewise",
	"watch-drops-the-cause":         "likewise",
	"watch-deaf-to-close":           "likewise",
	"closed-says-canceled":          "likewise",
	"nodes-with-the-error":          "likewise",
	"goes-on-after-the-error":       "likewise",
	"busy-consumer-overtaken":       "likewise",
	"left-loop-goes-on":             "a watch too many is seen by the store alone",
	"canceled-watch-goes-on":        "likewise",
	"left-behind-a-frozen-link":     "likewise",
	"watches-when-called":           "likewise",
	"watchman-left":                 "a goroutine too many is seen by nobody",
	"watch-outlives-the-connection": "likewise",
}

// Every broken driver is found out by those who use the recipes on it, if it can
// be.
func TestSoakFindsBrokenDrivers(t *testing.T) {
	var shown findings
	known := make(map[string]bool)
	t.Run("each", func(t *testing.T) {
		for _, s := range sabotage.All() {
			known[s.Name] = true
			if unseen[s.Name] != "" {
				continue
			}
			t.Run(s.Name, func(t *testing.T) {
				t.Parallel()
				n, v := soaked(t, s.Apply, func(*soak.Options) {})
				if v.Text == "" {
					t.Errorf("%d runs have not seen it: %s", n, s.Doc)
				}
				shown.add(s.Name, n, v)
			})
		}
	})
	for name := range unseen {
		if !known[name] {
			t.Errorf("there is no broken driver %q", name)
		}
	}
	report.Show(t, "what users of the recipes see of each broken driver", shown.String())
}

// findings are a table of what was found.
type findings struct {
	mu   sync.Mutex
	rows []string
}

func (f *findings) add(name string, attempts int, v history.Violation) {
	f.mu.Lock()
	defer f.mu.Unlock()
	line, _, _ := strings.Cut(v.Text, "\n")
	f.rows = append(f.rows, fmt.Sprintf("%-34s in run %d, at %v: %.120s", name, attempts, v.At.Round(time.Millisecond), line))
}

func (f *findings) String() string {
	slices.Sort(f.rows)
	return strings.Join(f.rows, "\n")
}
