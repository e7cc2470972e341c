package subject

import (
	"context"
	"fmt"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/mutex"
	"github.com/coordkit/coordkit/recipes/rwlock"
)

// Mutex is the mutex.
func Mutex(c *coord.Client, name string) Want {
	w := MutexOf(mutex.New(c, name))
	w.On = func(s *coord.Session) Want { return MutexOf(mutex.New(c, name, coord.WithSession(s))) }
	return w
}

// MutexOf is a mutex that was made with options.
func MutexOf(m *mutex.Mutex) Want {
	return Want{
		Acquire: locks(m.Lock), Try: locks(m.TryLock), Do: m.Do,
		Contenders: m.Contenders, Revoke: m.Revoke,
	}
}

// ReadWrite is a read-write lock.
type ReadWrite struct {
	Read, Write Want

	// Downgrade takes a hold that Write has given.
	Downgrade func(ctx context.Context, h Hold) (Hold, error)
}

// RWLock is the read-write lock.
func RWLock(c *coord.Client, name string) ReadWrite {
	l := RWLockOf(rwlock.New(c, name))
	on := func(s *coord.Session) ReadWrite { return RWLockOf(rwlock.New(c, name, coord.WithSession(s))) }
	l.Read.On = func(s *coord.Session) Want { return on(s).Read }
	l.Write.On = func(s *coord.Session) Want { return on(s).Write }
	return l
}

// RWLockOf is a read-write lock that was made with options.
func RWLockOf(l *rwlock.RWLock) ReadWrite {
	return ReadWrite{
		Read: Want{
			Acquire: locks(l.RLock), Try: locks(l.TryRLock), Do: l.RDo,
			Contenders: l.Contenders, Revoke: l.Revoke,
		},
		Write: Want{
			Acquire: locks(l.Lock), Try: locks(l.TryLock), Do: l.Do,
			Contenders: l.Contenders, Revoke: l.Revoke,
		},
		Downgrade: func(ctx context.Context, h Hold) (Hold, error) {
			wrote, ok := h.(unlocked)
			if !ok {
				return nil, fmt.Errorf("subject: a %T cannot be downgraded", h)
			}
			r, err := wrote.unlocker.(*rwlock.WriteHeld).Downgrade(ctx)
			if err != nil {
				return nil, err
			}
			return unlocked{r}, nil
		},
	}
}
