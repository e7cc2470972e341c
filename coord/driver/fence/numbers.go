package fence

import (
	"errors"
	"sync"

	"github.com/coordkit/coordkit/coord/driver"
)

// Numbers is a fence by numbered requests. The zero value is ready for a new session. Its
// methods are safe for concurrent use.
type Numbers struct {
	mu      sync.Mutex
	last    uint64 // the number of the latest request
	floor   uint64 // that the store is known to have
	doubted uint64 // the highest number of a request whose reply was lost
}

// Request is what a fenced request says of itself.
type Request struct {
	// Number is its number. The store refuses it if the floor is higher.
	Number uint64

	// Raise: it sets the floor to Number, in the same transaction.
	Raise bool

	known uint64 // the floor that the store had before the request was sent
}

// Do makes a request by calling send, and again with a higher number for as long as the
// store refuses it because a concurrent request has raised the floor. The function send
// returns the floor that the request has found, before it raised it (0 if the store has
// none), or an error, which Do returns. The argument raise says that the request is to
// raise the floor in any case, as Abandon does.
//
// After an error that Is driver.ErrUncertain the next request raises the floor above the
// number of that one.
func (f *Numbers) Do(raise bool, send func(Request) (floor uint64, err error)) error {
	for {
		r := f.next(raise)
		floor, err := send(r)
		if err != nil {
			f.failed(r, err)
			return err
		}
		if f.answered(r, floor) {
			return nil
		}
	}
}

func (f *Numbers) next(raise bool) Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	return Request{f.last, raise || f.doubted > f.floor, f.floor}
}

func (f *Numbers) failed(r Request, err error) {
	if !errors.Is(err, driver.ErrUncertain) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.doubted = max(f.doubted, r.Number)
}

// answered takes note of an answer, and reports whether the request was executed.
func (f *Numbers) answered(r Request, floor uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	done := floor <= r.Number
	if floor < r.known { // an operator has deleted it: what it refused is in doubt again
		f.floor = 0
	}
	if done && r.Raise {
		floor = r.Number
	}
	f.floor = max(f.floor, floor)
	return done
}
