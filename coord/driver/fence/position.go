package fence

import (
	"errors"
	"sync"

	"github.com/coordkit/coordkit/coord/driver"
)

// Position is a fence by the version of a key. Versions rise with every change of the
// key, also over its deletion; 0 says that there is none. The zero value is ready for a
// new session. Its methods are safe for concurrent use.
type Position struct {
	mu      sync.Mutex
	at      uint64 // where the key was seen last
	doubt   bool   // requests that ask for doubted, or less, may still be on their way
	doubted uint64
}

// Do makes a request by calling send, and again for as long as the store refuses it
// because the fence is not where the request asks for it. The request is executed only
// if the key stands at the version at. If move is set it writes the key in the same
// transaction. The function send returns where the request has left or found the key,
// and whether it was executed, or an error, which Do returns. The argument move says
// that the request is to move the fence in any case, as Abandon does.
//
// After an error that Is driver.ErrUncertain the next request moves the fence.
func (f *Position) Do(move bool, send func(at uint64, move bool) (now uint64, done bool, err error)) error {
	for {
		at, doubt := f.position()
		now, done, err := send(at, move || doubt)
		if errors.Is(err, driver.ErrUncertain) {
			f.pending(at)
		}
		if err != nil {
			return err
		}
		f.saw(at, now)
		if done {
			return nil
		}
	}
}

func (f *Position) position() (at uint64, doubt bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.at, f.doubt && f.at <= f.doubted
}

func (f *Position) pending(asked uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.doubt, f.doubted = true, max(f.doubted, asked)
}

// saw takes note of where a request that asked for a position has left or found the key.
// Replies overtake each other, so a lower position does not count. If the key is gone
// where one was asked for, an operator has deleted it. Then what asked for none before is
// in doubt again.
func (f *Position) saw(asked, now uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case now > f.at:
		f.at = now
	case now == 0 && asked > 0:
		f.at, f.doubt = 0, true
	}
}
