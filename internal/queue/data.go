package queue

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// header is the first line of an entry's data, as JSON, for people and
// programs that look at a line. What the recipe adds follows the line break.
type header struct {
	Owner coord.Owner `json:"owner"`
	Since time.Time   `json:"since"`

	// InPlaceOf is the entry that this one stands in for.
	InPlaceOf *place `json:"in_place_of,omitempty"`
}

// encoder writes entries' data. The owner is encoded once: it never changes.
type encoder struct{ prefix []byte }

func newEncoder(o coord.Owner) encoder {
	owner, err := json.Marshal(o)
	if err != nil { // an Owner is strings and a number
		panic(err)
	}
	return encoder{append(append([]byte(`{"owner":`), owner...), `,"since":"`...)}
}

func (e encoder) encode(since time.Time, req Request) []byte {
	if req.gateOf != nil { // of which nobody asks whose it is
		return nil
	}
	b := make([]byte, 0, len(e.prefix)+len(time.RFC3339Nano)+len("\"}\n")+len(req.Value))
	b = append(b, e.prefix...)
	b = since.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, '"')
	if p := req.inPlaceOf; p != nil {
		b = fmt.Appendf(b, `,"in_place_of":{"seq":%d,"token":%d}`, p.Seq, p.Token)
	}
	b = append(b, "}\n"...)
	return append(b, req.Value...)
}

// Value returns what the recipe has stored with an entry.
func Value(n driver.Node) []byte {
	_, value, _ := bytes.Cut(n.Data, []byte("\n"))
	return value
}

// parse reads an entry's header. Data that somebody else wrote still is an entry
// in the line; it just does not say whose.
func parse(n driver.Node) header {
	var h header
	line, _, _ := bytes.Cut(n.Data, []byte("\n"))
	_ = json.Unmarshal(line, &h)
	return h
}

// Contender is what a node of a line says of itself, without what only the recipe
// knows.
func Contender(n driver.Node) coord.Contender {
	h := parse(n)
	c := coord.Contender{Owner: h.Owner, Since: h.Since, Token: n.Token, Session: n.Session, Key: n.Key}
	if h.InPlaceOf != nil {
		c.Token = h.InPlaceOf.Token
	}
	return c
}

// tokenOf returns the token of the entry's holds.
func tokenOf(n driver.Node) uint64 {
	if p := parse(n).InPlaceOf; p != nil {
		return p.Token
	}
	return n.Token
}

// CheckValue returns an error that Is coord.ErrInvalid for what a user cannot
// store with an entry.
func CheckValue(value []byte) error {
	if len(value) > coord.MaxValue {
		return fmt.Errorf("%w value: it has %d bytes; want at most %d", coord.ErrInvalid, len(value), coord.MaxValue)
	}
	return nil
}

// Write replaces the value that the recipe stores with the entry, for everybody
// to see. Of several calls the last one to begin counts; ctx bounds the call, and
// nothing else but the session's TTL: a store that is away for less does not cost the
// entry its place.
// It fails with an error that Is coord.ErrNotHeld if the entry is gone or its
// session over, and changes nothing then, so no value comes from one who has
// lost his place. After another error the value may have been written; calling
// again is safe.
func (e *Entry) Write(ctx context.Context, value []byte) error {
	e.mu.Lock()
	if e.writing == nil {
		e.writing = make(chan struct{}, 1)
	}
	writing := e.writing
	e.mu.Unlock()
	select { // one at a time, in order: a repeated request must not undo a later one
	case writing <- struct{}{}:
		defer func() { <-writing }()
	case <-ctx.Done():
		return e.queue.fail("write", driver.ContextError(ctx))
	case <-e.session.Done():
		return e.queue.fail("write", notHeld(e.session.Err()))
	}
	data := e.queue.encoder.encode(e.since, Request{Value: value, inPlaceOf: e.place})
	err := e.session.Retry(ctx, func(ctx context.Context) error {
		if err := e.over(); err != nil {
			return err
		}
		_, err := e.session.Driver().Update(ctx, e.node, data)
		return err
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, driver.ErrGone): // alone, or with all of the session
		why := e.whyGone(ctx)
		if !errors.Is(why, coord.ErrSessionLost) && !errors.Is(why, coord.ErrClosed) {
			why = coord.ErrRemoved
		}
		return e.queue.fail("write", notHeld(why))
	case errors.Is(err, coord.ErrSessionLost), errors.Is(err, coord.ErrClosed), errors.Is(err, coord.ErrRemoved):
		return e.queue.fail("write", notHeld(err))
	}
	return e.queue.fail("write", err)
}

func notHeld(why error) error { return fmt.Errorf("%w: %w", coord.ErrNotHeld, why) }
