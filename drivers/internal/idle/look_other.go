//go:build !unix

package idle

import "net"

// CanLook reports whether connections can be looked at on this system. Where they
// cannot, a library has them that reads all the time.
const CanLook = false

// Look returns nil.
func Look(net.Conn) error { return nil }
