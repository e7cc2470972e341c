package delay

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// timer sleeps with a precision of microseconds. Go's own timers do not: an idle
// program waits for them with epoll, in whole milliseconds. This timer is a file of
// the kernel (timerfd), on which a read blocks until it expires.
type timer struct {
	file *os.File
	fd   int
}

func newTimer() (timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return timer{}, os.NewSyscallError("timerfd_create", err)
	}
	return timer{os.NewFile(uintptr(fd), "timer"), fd}, nil
}

// SleepUntil returns at the given time, at once if it has passed.
func (t timer) SleepUntil(at time.Time) error {
	left := time.Until(at)
	if left <= 0 {
		return nil
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(int64(left))}
	if err := unix.TimerfdSettime(t.fd, 0, &spec, nil); err != nil {
		return os.NewSyscallError("timerfd_settime", err)
	}
	var expirations [8]byte
	_, err := t.file.Read(expirations[:])
	return err
}
