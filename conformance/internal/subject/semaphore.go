package subject

import (
	"context"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/semaphore"
)

// Counting is a semaphore.
type Counting struct {
	Want     func(permits int) Want
	SetLimit func(ctx context.Context, limit int) error
	Limit    func(ctx context.Context) (limit, used int, err error)
	On       func(own *coord.Session) Counting // as Want.On
}

// Semaphore is the semaphore.
func Semaphore(c *coord.Client, name string, limit int) Counting {
	s := SemaphoreOf(semaphore.New(c, name, limit))
	on := func(own *coord.Session) Counting {
		return SemaphoreOf(semaphore.New(c, name, limit, coord.WithSession(own)))
	}
	want := s.Want
	s.On = on
	s.Want = func(permits int) Want {
		w := want(permits)
		w.On = func(own *coord.Session) Want { return on(own).Want(permits) }
		return w
	}
	return s
}

// SemaphoreOf is a semaphore that was made with options.
func SemaphoreOf(s *semaphore.Semaphore) Counting {
	return Counting{
		Want: func(permits int) Want {
			return Want{
				Acquire:    permit(s.Acquire, permits),
				Try:        permit(s.TryAcquire, permits),
				Do:         func(ctx context.Context, fn Func) error { return s.Do(ctx, permits, fn) },
				Contenders: s.Contenders,
				Revoke:     s.Revoke,
			}
		},
		SetLimit: s.SetLimit,
		Limit:    s.Limit,
	}
}

func permit(acquire func(context.Context, int) (*semaphore.Held, error), permits int) func(context.Context) (Hold, error) {
	return func(ctx context.Context) (Hold, error) {
		h, err := acquire(ctx, permits)
		if err != nil {
			return nil, err
		}
		return h, nil
	}
}
