package zk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
)

// call makes one request when the session is open on a connection. It returns when ctx
// ends, which the library does not know: the request goes on, on a goroutine of the link,
// until it is answered or the connection is lost. The errors are the library's or, if the
// request surely was not sent, attempt.NotSent.
func call[T any](ctx context.Context, l *link, request func(*gozk.Conn) (T, error)) (value T, err error) {
	err = l.await(ctx, func() bool { return l.life.Err() != nil || l.up && l.trusted })
	if l.life.Err() != nil {
		return value, context.Cause(l.life)
	}
	if err != nil {
		return value, l.unreached(err)
	}
	type answer struct {
		value T
		err   error
	}
	answers := make(chan answer, 1)
	l.spawn(func() {
		defer l.hasten()()
		value, err := request(l.zk)
		answers <- answer{value, err}
	})
	select { // an answer that is ready together with the end is as good as one that came before
	case a := <-answers:
		return a.value, a.err
	case <-ctx.Done():
		return value, ctx.Err()
	case <-l.shut.Done():
		return value, gozk.ErrClosing
	}
}

// hasten looks after a request until the function that it returns is called. A server that
// owes an answer gets another request: members of a cluster may not notice one until the
// next comes (seen with 3.8). If the server then stays silent, another one is tried.
func (l *link) hasten() (stop func()) {
	w, sent := l.current(), time.Now()
	nudge := time.AfterFunc(min(l.patience/4, 100*time.Millisecond), func() {
		l.spawn(func() { _, _, _ = l.zk.Exists("/") })
	})
	alarm := time.AfterFunc(l.patience, func() {
		if w.silentSince(sent) {
			w.drop()
		}
	})
	return func() { nudge.Stop(); alarm.Stop() }
}

// unreached is the error of a request for which there was no connection in time. The
// opening of a session may have been asked for all the same.
func (l *link) unreached(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.trouble != nil {
		err = l.trouble
	}
	if l.session == 0 && l.asked {
		return err
	}
	return attempt.NotSent(err)
}

// multi makes a transaction. If the server refuses it the error is a *refused.
func multi(ctx context.Context, l *link, ops ...any) ([]gozk.MultiResponse, error) {
	return call(ctx, l, func(c *gozk.Conn) ([]gozk.MultiResponse, error) {
		results, err := c.Multi(ops...)
		if part := slices.IndexFunc(results, func(r gozk.MultiResponse) bool { return r.Error != nil }); part >= 0 {
			return nil, &refused{part, err}
		}
		return results, err
	})
}

// refused is the error of a transaction of which a part was refused, and so all of it.
type refused struct {
	part int
	err  error
}

func (e *refused) Error() string { return e.err.Error() }
func (e *refused) Unwrap() error { return e.err }

// agree has the servers agree on a transaction that changes nothing. The answer proves
// that a majority follows the leader, that the session lives, and that the server has
// seen all that was agreed on before. Pings, reads and syncs do not prove that. A server
// that does not answer is left for another one, although it may answer pings.
func agree(ctx context.Context, l *link) error {
	w := l.current()
	alarm := time.AfterFunc(l.patience, func() { w.drop() })
	defer alarm.Stop()
	_, err := multi(ctx, l, &gozk.CheckVersionRequest{Path: "/", Version: -1})
	if _, refused := errors.AsType[*refused](err); refused { // that was agreed on like anything else
		return nil
	}
	return err
}

// kinds are the library's errors for answers that say that the server did nothing.
// The kind nil is of those that the driver handles itself.
var kinds = []struct{ err, kind error }{
	{gozk.ErrNoAuth, driver.ErrDenied},
	{gozk.ErrAuthFailed, driver.ErrDenied},
	{gozk.ErrInvalidACL, driver.ErrDenied},
	{gozk.ErrSessionExpired, driver.ErrSessionLost},
	{gozk.ErrNoNode, nil},
	{gozk.ErrBadVersion, nil},
	{gozk.ErrNodeExists, nil},
	{gozk.ErrNoChildrenForEphemerals, driver.ErrInvalid},
	{gozk.ErrBadArguments, driver.ErrInvalid},
	{gozk.ErrAPIError, driver.ErrInvalid},
	{gozk.ErrInvalidPath, driver.ErrInvalid},
	{gozk.ErrShortBuffer, driver.ErrInvalid}, // the request is larger than the library's buffer
}

// codes are answers for which the library has no error but a text with the number.
var codes = []struct {
	text string
	kind error
	says string
}{
	{"unknown error: -5", driver.ErrInvalid, "the server does not understand the request"},
	{"unknown error: -6", driver.ErrUnsupported, "the server does not know the request; the driver needs ZooKeeper 3.5.3 or later"},
	{"unknown error: -119", driver.ErrUnavailable, "the server is read-only"},
	{"unknown error: -125", driver.ErrDenied, "a quota is exceeded"},
	{"unknown error: -127", driver.ErrUnavailable, "the server throttles requests"},
}

// answered makes what a server has refused the error of a call. It leaves every other error
// as it is, as attempt.Op.Do wants it: the request may have been executed.
func answered(o attempt.Op, err error) error {
	if _, done := errors.AsType[*driver.Error](err); done || err == nil {
		return err
	}
	for _, c := range codes {
		if err.Error() == c.text {
			return o.Failed(c.kind, fmt.Errorf("%s (%w)", c.says, err))
		}
	}
	for _, k := range kinds {
		if errors.Is(err, k.err) {
			return o.Failed(k.kind, err)
		}
	}
	if _, ok := errors.AsType[*refused](err); ok {
		return o.Failed(driver.ErrInvalid, fmt.Errorf("the server refused the transaction: %w", err))
	}
	if errors.Is(err, gozk.ErrNoServer) { // the library has dropped it unsent
		return attempt.NotSent(err)
	}
	return err
}

// invalid is the error of an argument that is wrong.
func invalid(o attempt.Op, format string, args ...any) error {
	return o.Failed(driver.ErrInvalid, fmt.Errorf(format, args...))
}

// unfinished is the error of a call that may have made a node and was refused what comes
// after. It Is ErrUncertain, whatever else it Is, so that the caller clears up.
func unfinished(o attempt.Op, err error) error {
	of, ok := errors.AsType[*driver.Error](err)
	switch {
	case ok && of.Kind == driver.ErrUnavailable:
		return o.Failed(driver.ErrUncertain, of.Err)
	case ok && of.Kind == driver.ErrDenied:
		return o.Failed(driver.ErrUncertain, fmt.Errorf("%w for what follows: %w", driver.ErrDenied, of.Err))
	}
	return err
}

// behind runs f right behind the message that holds text: when it was written, and before
// ctx ends.
func (l *link) behind(ctx context.Context, text string, f func()) {
	written := make(chan struct{})
	l.mu.Lock()
	l.sending[text] = written
	l.mu.Unlock()
	l.spawn(func() {
		select {
		case <-written:
			f()
		case <-ctx.Done():
			l.mu.Lock()
			delete(l.sending, text)
			l.mu.Unlock()
		}
	})
}

// spawn runs f on a goroutine that shutDown waits for, but not after that.
func (l *link) spawn(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.shut.Err() == nil {
		l.calls.Go(f)
	}
}

// bye has the store end the session, on whatever connection there is or will be. nil says
// that there is no such session any more. It is called when the session is over for its
// owner; when the last call has returned, the link is quiet.
func (l *link) bye(ctx context.Context) error {
	l.change(func() { l.parting++ })
	defer func() {
		l.end(&driver.Error{Op: "session", Store: store, Kind: driver.ErrClosed})
		l.change(func() { l.parting-- })
		l.quiet()
	}()
	for said := (*wire)(nil); ; {
		none := false
		err := l.await(ctx, func() bool {
			none = l.expired || l.session == 0 || l.shut.Err() != nil
			return none || l.up && l.wire != said
		})
		if err != nil || none {
			return err
		}
		said = l.current()
		said.bye() // the server closes the connection, and says on the next one that the session has expired
	}
}

// shutDown ends the link, without a word to the store if bye has not had it. It returns
// when nothing of it runs any more, except that Close of the library may wait for a second.
func (l *link) shutDown() {
	l.end(&driver.Error{Op: "session", Store: store, Kind: driver.ErrClosed})
	l.change(func() {
		l.shutting()
		l.wire.drop()
	})
	go l.zk.Close()
	<-l.gone
	l.calls.Wait()
}
