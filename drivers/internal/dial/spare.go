package dial

import (
	"context"
	"io"
	"time"

	"github.com/coordkit/coordkit/coord/driver/attempt"
)

// Spare makes connections. One that takes longer than its request may is made all the same,
// for a later request: over a slow link no request would ever have one. Its methods are safe
// for concurrent use.
type Spare[C io.Closer] struct {
	connect func(ctx context.Context) (C, error)
	limit   time.Duration
	life    context.Context
	end     context.CancelFunc
	made    chan C
	places  chan struct{} // taken by those that are being made
	library attempt.Library
}

// most is how many connections are made at a time, and kept for later requests.
const most = 4

// NewSpare returns a Spare whose connections are made by connect, within limit each.
func NewSpare[C io.Closer](limit time.Duration, connect func(ctx context.Context) (C, error)) *Spare[C] {
	s := &Spare[C]{connect: connect, limit: limit, made: make(chan C, most), places: make(chan struct{}, most)}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Get returns a connection, or ctx's error when that ends first.
func (s *Spare[C]) Get(ctx context.Context) (c C, err error) {
	for {
		select {
		case c = <-s.made:
			return c, nil
		default:
		}
		select {
		case s.places <- struct{}{}:
		case c = <-s.made:
			return c, nil
		case <-ctx.Done():
			return c, ctx.Err()
		}
		if err = s.library.Do(ctx, s.make); err != nil {
			return c, err
		}
	}
}

// make makes a connection, in a place that is taken.
func (s *Spare[C]) make() error {
	defer func() { <-s.places }()
	ctx, cancel := context.WithTimeout(s.life, s.limit)
	defer cancel()
	c, err := s.connect(ctx)
	if err != nil {
		return err
	}
	select {
	case s.made <- c:
	default:
		_ = c.Close() // nobody wanted the last ones
	}
	return nil
}

// Close closes the connections that nobody has got.
func (s *Spare[C]) Close() error {
	s.end()
	s.library.Wait()
	for len(s.made) > 0 {
		_ = (<-s.made).Close()
	}
	return nil
}
