package mem

import (
	"context"
	"fmt"
	"sync"

	"github.com/coordkit/coordkit/coord/driver"
)

// scheme is what URLs of this store begin with, and its name in errors.
const scheme = "mem"

func init() {
	driver.Register(scheme, NewOpener())
}

// NewOpener returns an opener with named stores of its own, as the one is that
// this package registers for mem:// URLs in driver.DefaultMux.
func NewOpener() driver.Opener {
	r := &registry{stores: make(map[string]*Store)}
	return driver.Opener{Open: r.open, Local: true, MinTTL: MinTTL, MaxTTL: MaxTTL}
}

// registry holds the named stores that have connections.
type registry struct {
	mu     sync.Mutex
	stores map[string]*Store

	// seq is at least the last number given by any store that was dropped. The
	// next one numbers from there, so that the tokens of a name go on rising
	// and no name has to be remembered.
	seq uint64
}

func (r *registry) open(ctx context.Context, t driver.Target) (driver.Conn, error) {
	var name string
	switch len(t.Hosts) {
	case 0: // the store without a name
	case 1:
		name = t.Hosts[0]
	default:
		return nil, &driver.Error{Op: "open", Store: scheme, Kind: driver.ErrInvalid,
			Err: fmt.Errorf("%d names; a URL names one store, or none for the default", len(t.Hosts))}
	}
	if err := unsent(ctx, "open", name); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	st := r.stores[name]
	if st == nil {
		st = newStore(r.seq)
		st.onLeft = func() { r.drop(name, st) }
		r.stores[name] = st
	}
	return st.Open(t.Namespace), nil
}

// drop forgets a store unless it has connections.
func (r *registry) drop(name string, st *Store) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stores[name] != st {
		return
	}
	if seq, ok := st.discard(); ok {
		delete(r.stores, name)
		r.seq = max(r.seq, seq)
	}
}

// discard ends every session of a store without connections, and returns the
// last number that it gave. It reports false if there are connections.
func (st *Store) discard() (seq uint64, ok bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.stats.Conns > 0 {
		return 0, false
	}
	for _, l := range st.sessions {
		st.endLocked(l)
	}
	return st.seq, true
}
