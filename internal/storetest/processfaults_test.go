package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coordkit/coordkit/internal/storetest/trial"
)

// processFaults are those of a holder's process.
var processFaults = []fault{
	ofProcess("process paused (SIGSTOP)", syscall.SIGSTOP, syscall.SIGCONT),
	ofProcess("process killed (SIGKILL)", syscall.SIGKILL, 0),
}

// ofProcess has the holder's process get a signal, and another when others have its
// locks.
func ofProcess(name string, cut, heal syscall.Signal) fault {
	return fault{name: name, make: func(t *testing.T, s *store, _ *rand.Rand) trial.Fault {
		holder := s.startHolder(t)
		f := s.others(t, patient)
		f.Holder, f.Untold = trial.InAnotherProcess(holder.conn), true
		f.Cut = func(_ context.Context, scene trial.Scene) error {
			scene.History.Killed(trial.HolderName)
			return holder.Signal(cut)
		}
		if heal != 0 {
			f.Heal = func(context.Context) error { return holder.Signal(heal) }
			t.Cleanup(func() { holder.goodbye(t) })
		}
		return f
	}}
}

// holder is a process that holds locks.
type holder struct {
	*process
	conn *holderConn
}

// holderConn is the connection with it.
type holderConn struct {
	pipes
	once   sync.Once
	closed chan struct{}
}

// Close is called when all was read.
func (c *holderConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.pipes.Close()
}

func (s *store) startHolder(t *testing.T) holder {
	t.Helper()
	conn := make(chan *holderConn, 1)
	p := startProcess(t, "holder", "", s.url(hosts(s.Endpoints()...)...), s.ttl, func(_ *process, ends pipes) error {
		c := &holderConn{pipes: ends, closed: make(chan struct{})}
		conn <- c
		select { // the end of the test ends it too
		case <-c.closed:
		case <-t.Context().Done():
		}
		return nil
	})
	return holder{p, <-conn}
}

// goodbye wants a process that was told to let go to end well.
func (h holder) goodbye(t *testing.T) {
	select { // if both, its end is as it is
	case <-h.done:
	case <-time.After(patience):
		t.Errorf("process %d does not end", h.Pid)
		return
	}
	if err := errors.Join(h.err, h.complaint()); err != nil {
		t.Error(err)
	}
}
