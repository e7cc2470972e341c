package mem

import "context"

// follow looks at the store, and looks again whenever one of the topics changes,
// until use reports that it has seen enough, or the call or its session is over.
// look runs at the store, under its lock.
//
// There is one request at a time, so a slow link never brings an older state after
// a newer one. If a request or news is lost, follow asks again, and misses nothing.
func follow[R any](ctx context.Context, l *Link, c call, topics []topic, look func() (R, error), use func(R) bool) error {
	for {
		if err := c.ready(ctx); err != nil {
			return err
		}
		enough, err := followOnce(ctx, l, c, topics, look, use)
		if enough || err == errNoSession {
			return err
		}
		l.mu.Lock()
		cut, healed := l.cut, l.healed
		l.mu.Unlock()
		if cut {
			select { // whichever is ready, the loop looks at all of them
			case <-healed:
			case <-ctx.Done():
			case <-c.quit:
			}
		}
	}
}

// followOnce looks, and waits for the news that what it has seen has changed.
func followOnce[R any](ctx context.Context, l *Link, c call, topics []topic, look func() (R, error), use func(R) bool) (enough bool, err error) {
	w := &watch{owner: l, topics: topics, fired: make(chan struct{})}
	defer func() {
		l.store.mu.Lock()
		defer l.store.mu.Unlock()
		l.store.watches.end(w) // also if its request is still on its way
	}()
	state, err := ask(ctx, l, c, func(uint64) (R, error) {
		l.store.watches.set(w)
		return look()
	})
	if err != nil || use(state) {
		return err == nil, err
	}
	select {
	case <-w.fired:
		l.news(ctx, c)
	case <-ctx.Done():
	case <-c.quit:
	}
	return false, nil
}
