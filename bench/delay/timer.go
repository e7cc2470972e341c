package delay

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// timer sleeps for less than a millisecond. Go's own timers are late by up to
// that, as an idle program waits for them in whole milliseconds. This one is a
// file of the kernel's (timerfd), for which it waits as for a connection.
type timer struct{ *os.File }

func newTimer() (timer, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return timer{}, os.NewSyscallError("timerfd_create", err)
	}
	return timer{os.NewFile(uintptr(fd), "timer")}, nil
}

// SleepUntil returns at the given time, or at once if that has passed.
func (t timer) SleepUntil(at time.Time) error {
	left := time.Until(at)
	if left <= 0 {
		return nil
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.TimerfdSettime(int(fd), 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(int64(left))}, nil)
	})
	if err != nil {
		return err
	}
	if failed != nil {
		return os.NewSyscallError("timerfd_settime", failed)
	}
	var expirations [8]byte
	_, err = t.Read(expirations[:])
	return err
}
