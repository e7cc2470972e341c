package zk

import "context"

// farewell has the store end the session, on whatever connection there is or
// will be. nil says that the store has confirmed it, or that there is no
// session. The link is retired before.
//
// The library's Close would say it once, and not again when the connection is
// lost.
func (l *link) farewell(ctx context.Context) error {
	l.mu.Lock()
	l.parting = true
	l.notify()
	none := l.session == 0
	l.mu.Unlock()
	if none {
		return nil
	}
	var said *wire
	for {
		var w *wire
		if err := l.await(ctx, l.gone, func() bool {
			w = l.wire
			return l.expired || l.up && w != said
		}); err != nil {
			return err
		}
		if l.isExpired() {
			return nil
		}
		said = w
		w.bye()
	}
}

// isExpired reports whether the store has said that the session is over.
func (l *link) isExpired() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.expired
}

// shutDown ends the link, without a word to the store if farewell has not had
// it. It returns at once; rest does the rest.
func (l *link) shutDown(why error) {
	l.retire(why)
	l.mu.Lock()
	l.shut = true
	w := l.wire
	l.mu.Unlock()
	l.cancel()
	l.watches.close()
	l.sights.close()
	if w != nil {
		_ = w.Close() // nothing is lost that was not lost before
	}
}

// rest returns when nothing of the link runs any more, after shutDown.
func (l *link) rest() {
	// In this order: the library can block itself for ever when a request, its
	// Close and the loss of the connection come together. It takes up to a second
	// to close when there is no connection, but not until it comes to rest.
	_ = l.await(context.Background(), l.gone, func() bool { return !l.up })
	l.quit.Do(func() { go l.zk.Close() })
	<-l.gone
	l.sharing.Close()
	l.calls.Wait()
	l.watches.running.Wait()
	l.sights.running.Wait()
}
