package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"testing"

	"github.com/coordkit/coordkit/coord"
)

func testLedger(t *testing.T) *ledger {
	t.Helper()
	l, err := newLedger()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(l.path) })
	return l
}

func TestLedgerRefusesOldTokens(t *testing.T) {
	l := testLedger(t)
	early, err := l.read(7)
	if err != nil {
		t.Fatal(err)
	}
	late, err := l.read(9)
	if err != nil {
		t.Fatal(err)
	}
	// The earlier holder comes between the read and the write of the later.
	early.Count++
	if err := l.write(early); !errors.Is(err, errRefused) {
		t.Errorf("a write with an old token: %v; want a refusal", err)
	}
	if _, err := l.read(8); !errors.Is(err, errRefused) {
		t.Errorf("a read with an old token: %v; want a refusal", err)
	}
	late.Count, late.Holder = 5, "the later"
	if err := l.write(late); err != nil {
		t.Fatal(err)
	}

	text, err := os.ReadFile(l.path)
	if err != nil {
		t.Fatal(err)
	}
	var got page
	if err := json.Unmarshal(text, &got); err != nil || got != (page{9, "the later", 5}) {
		t.Errorf("the file: %s, %v", text, err)
	}
	if l.accepted != 1 || l.refused != 1 {
		t.Errorf("counted %d accepted and %d refused writes; want 1 of each", l.accepted, l.refused)
	}
}

func TestVerdict(t *testing.T) {
	client, err := coord.Open(t.Context(), "mem://verdict")
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close(t.Context())
	session, err := client.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type grant struct {
		token uint64
		ends  bool // before the next
	}
	for _, c := range []struct {
		name     string
		grants   []grant
		accepted int // writes, of which the file counts 2
		ok       bool
	}{
		{"all is well", []grant{{1, true}, {2, true}}, 2, true},
		{"same token twice", []grant{{1, true}, {1, true}}, 2, false},
		{"token fell", []grant{{2, true}, {1, true}}, 2, false},
		{"two holders", []grant{{1, false}, {2, true}}, 2, false},
		{"lost update", []grant{{1, true}, {2, true}}, 3, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := testLedger(t)
			timeline := &timeline{out: io.Discard, next: make(chan struct{})}
			for _, g := range c.grants {
				hold := coord.NewHold(t.Context(), "lock", session, g.token, nil, nil)
				defer hold.End(nil)
				timeline.granted("somebody", hold)
				if g.ends {
					hold.End(nil)
				}
			}
			l.accepted = c.accepted
			if err := l.store(page{Count: 2}); err != nil {
				t.Fatal(err)
			}
			if err := timeline.verdict(l); (err == nil) != c.ok {
				t.Errorf("verdict: %v; want it passed: %t", err, c.ok)
			}
		})
	}
}
