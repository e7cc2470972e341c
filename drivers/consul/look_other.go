//go:build !unix

package consul

import "net"

// Connections cannot be looked at here, so package http has them, which reads all the
// time.
const canLook = false

func look(net.Conn) error { return nil }
