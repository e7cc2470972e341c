//go:build unix

package zk

import "syscall"

// writeNow writes what a connection takes at once, and reports how much that was.
// It does not wait for room, but for others who write.
func writeNow(c syscall.RawConn, b []byte) (n int, err error) {
	blocked := c.Write(func(fd uintptr) bool {
		n, err = syscall.Write(int(fd), b)
		return true
	})
	if err == nil {
		err = blocked
	}
	if err == syscall.EAGAIN || err == syscall.EINTR {
		err = nil
	}
	return max(n, 0), err
}
