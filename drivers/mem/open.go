package mem

import (
	"context"
	"strings"
	"sync"

	"github.com/coordkit/coordkit/coord/driver"
)

func init() {
	driver.Register(scheme, driver.Opener{Open: (&registry{stores: make(map[string]*Store)}).open, Local: true, MinTTL: MinTTL, MaxTTL: MaxTTL})
}

// registry keeps each named store, so that the tokens of a name go on rising. A
// store without connections is empty.
type registry struct {
	mu     sync.Mutex
	stores map[string]*Store
}

func (r *registry) open(_ context.Context, t driver.Target) (driver.Conn, error) {
	name := strings.Join(t.Hosts, ",") // there is one at the most
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stores[name] == nil {
		r.stores[name] = NewStore()
	}
	return r.stores[name].Open(t.Namespace), nil
}
