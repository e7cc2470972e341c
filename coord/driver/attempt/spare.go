package attempt

import (
	"context"
	"io"
	"time"
)

// Spare makes connections. One that takes longer than its attempt may is made all the same,
// for a later request: over a slow link no attempt would ever have one. Its methods are safe
// for concurrent use.
type Spare[C io.Closer] struct {
	connect func(ctx context.Context) (C, error)
	limit   time.Duration
	life    context.Context
	end     context.CancelFunc
	made    chan made[C]
	places  chan struct{} // taken by those that are being made
	library Library
}

// NewSpare returns a Spare whose connections are made by connect, within limit each, at most
// so many at a time.
func NewSpare[C io.Closer](most int, limit time.Duration, connect func(ctx context.Context) (C, error)) *Spare[C] {
	s := &Spare[C]{connect: connect, limit: limit, made: make(chan made[C], most), places: make(chan struct{}, most)}
	s.life, s.end = context.WithCancel(context.Background())
	return s
}

// Get returns a connection, or ctx's error when that ends first.
func (s *Spare[C]) Get(ctx context.Context) (c C, err error) {
	var places chan<- struct{} = s.places // nil once one is being made for this call
	failed := make(chan error, 1)
	for {
		select { // first what is there
		case m := <-s.made:
			if m.fresh() {
				return m.conn, nil
			}
			continue
		default:
		}
		select {
		case m := <-s.made: // it need not be the one that is made for this call
			if m.fresh() {
				return m.conn, nil
			}
		case places <- struct{}{}:
			places = nil
			if !s.library.start(func() { failed <- s.make() }) {
				return c, errEnded
			}
		case err = <-failed:
			if err != nil {
				return c, err
			}
			places = s.places // another call may have got it
		case <-ctx.Done():
			return c, ctx.Err()
		}
	}
}

// made is a connection that nobody has got yet.
type made[C io.Closer] struct {
	conn C
	at   time.Time
}

// fresh reports whether the connection was made just now, and closes it otherwise: it may
// have broken since.
func (m made[C]) fresh() bool {
	if time.Since(m.at) <= time.Second {
		return true
	}
	_ = m.conn.Close()
	return false
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
	case s.made <- made[C]{c, time.Now()}:
	default:
		_ = c.Close() // nobody wanted the last ones
	}
	return nil
}

// Close closes the connections that no attempt has taken.
func (s *Spare[C]) Close() error {
	s.end()
	s.library.Wait()
	for len(s.made) > 0 {
		_ = (<-s.made).conn.Close()
	}
	return nil
}
