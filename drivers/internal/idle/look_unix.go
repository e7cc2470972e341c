//go:build unix

package idle

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// CanLook reports whether connections can be looked at on this system.
const CanLook = true

// Look returns nil if there is nothing to be read from a connection at present, as it
// should be before something was asked, and else says what is wrong: ErrSpoken, or that
// it was closed. It does not wait. After ErrSpoken the connection is of no use, as a part
// of what was said is lost.
func Look(conn net.Conn) error {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return nil // not the system's
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	var n int
	var failure error
	if err := raw.Read(func(fd uintptr) (done bool) {
		var b [1]byte
		for failure = syscall.EINTR; errors.Is(failure, syscall.EINTR); {
			n, failure = syscall.Read(int(fd), b[:])
		}
		return true // also if there is nothing
	}); err != nil {
		return err
	}
	switch {
	case errors.Is(failure, syscall.EAGAIN):
		return nil
	case failure != nil:
		return failure
	case n > 0:
		return ErrSpoken
	default:
		return io.EOF
	}
}
