package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
)

var errRefused = errors.New("refused")

// page is what the ledger's file holds.
type page struct {
	Token  uint64 `json:"token"`  // the highest seen
	Holder string `json:"holder"` // who wrote last
	Count  int    `json:"count"`  // every write adds one
}

// ledger is the shared file, and stands for whatever a lock is there to
// protect. It keeps the highest fencing token it was shown and refuses lower
// ones. So even a holder that does not know yet that it has lost the lock
// cannot undo the work of later ones.
type ledger struct {
	path string

	// mu makes comparing and writing one step. In a database that would be
	// UPDATE … WHERE token <= ?
	mu                sync.Mutex
	accepted, refused int // writes
}

func newLedger() (*ledger, error) {
	file, err := os.CreateTemp("", "quickstart-*.json")
	if err != nil {
		return nil, err
	}
	l := &ledger{path: file.Name()}
	return l, errors.Join(file.Close(), l.store(page{}))
}

// read returns the page for a holder to change. From then on no earlier holder
// can write: it could otherwise do so between this read and its write.
func (l *ledger) read(token uint64) (page, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p, err := l.load(token)
	if err != nil {
		return page{}, err
	}
	p.Token = token
	return p, l.store(p)
}

// write replaces the page with a changed one.
func (l *ledger) write(p page) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, err := l.load(p.Token); err != nil {
		l.refused++
		return err
	}
	l.accepted++
	return l.store(p)
}

// load reads the file for the bearer of a token that is not too old.
func (l *ledger) load(token uint64) (p page, err error) {
	text, err := os.ReadFile(l.path)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return p, err
	}
	if token < p.Token {
		return p, fmt.Errorf("%w: %d has been here", errRefused, p.Token)
	}
	return p, nil
}

func (l *ledger) store(p page) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return os.WriteFile(l.path, text, 0o600)
}
