// Package slate is a driver for the toy store of package slated: as much as it
// takes to keep every rule of the contract, and no more. doc/writing-a-driver.md
// tells how it comes about.
//
// An entry is a key named <namespace>/<dir>/<session>-<id>, under the session's
// lease; the revision of its creation is both Seq and Token. Beside the
// directories each session has a key that fences off late requests (package fence).
// Every request goes over a TCP connection of its own, a wait over one for as
// long as it lasts. slated is one server; there is no TLS and no password.
package slate

import (
	"context"
	"fmt"
	"net"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/examples/slate/slated"
)

const store = "slate"

const minTTL, maxTTL = slated.MinTTL, slated.MaxTTL

func init() {
	driver.Register(store, driver.Opener{
		Open:        open,
		DefaultPort: "7528",
		MinTTL:      minTTL,
		MaxTTL:      maxTTL,
	})
}

// New returns a connection to the server at addr, whose network connections dial
// makes: net.Dialer.DialContext, or what a test has in its place. dial is called
// once for each request, concurrently; its ctx bounds the dialing only.
// Everything is kept below namespace; the empty one is "coordkit". A namespace of
// another form (see driver.Namespace) is an error that Is driver.ErrInvalid.
func New(addr, namespace string, dial func(ctx context.Context, network, addr string) (net.Conn, error)) (driver.Conn, error) {
	namespace, err := driver.Namespace(namespace)
	if err != nil {
		return nil, fmt.Errorf("slate: %w", err)
	}
	return newConn(addr, namespace, dial), nil
}

// open does not connect: the first call tells.
func open(_ context.Context, t driver.Target) (driver.Conn, error) {
	if len(t.Hosts) != 1 {
		return nil, &driver.Error{Op: "open", Store: store, Kind: driver.ErrInvalid, Err: fmt.Errorf("%d hosts; slated is a single server", len(t.Hosts))}
	}
	return newConn(t.Hosts[0], t.Namespace, new(net.Dialer).DialContext), nil
}
