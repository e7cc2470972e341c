package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"
)

// lockInterval is how often lockFile looks again whether the lock is free. The
// kernel offers no wait for a lock that a context could end.
const lockInterval = 50 * time.Millisecond

// tryLock takes the exclusive lock of an open file or directory and reports
// whether it did. The lock belongs to the open file, not to the process: it is
// gone when the last copy of the descriptor is closed, those of child processes
// included, and so never survives a crash.
func tryLock(f *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		case !errors.Is(err, syscall.EINTR):
			return false, fmt.Errorf("lock %s: %w", f.Name(), err)
		}
	}
}

// lockFile creates the file at path if need be and waits until its lock is free
// or ctx ends. Closing the file gives the lock back.
func lockFile(ctx context.Context, path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		locked, err := tryLock(f)
		if locked {
			return f, nil
		}
		if err == nil {
			err = pause(ctx, lockInterval)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("wait for the lock %s: %w", path, err), f.Close())
		}
	}
}
