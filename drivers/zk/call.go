package zk

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	gozk "github.com/go-zookeeper/zk"
	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
	"github.com/coordkit/coordkit/drivers/internal/dial"
)

// connect makes a link, which asks for a session with the timeout ttl until shutDown.
func connect(parent context.Context, p peers, ttl time.Duration, log *zap.Logger) *link {
	l := &link{
		patience: min(max(ttl/6, 50*time.Millisecond), 2*time.Second),
		peers:    p,
		rounds:   dial.New(p.network, p.hosts, min(max(ttl/16, dial.Least), time.Second)),
		wrong:    true,
		changed:  make(chan struct{}),
		trusted:  p.digest == nil,
		sending:  make(map[string]func()),
	}
	takeBack := func(path string) { l.current().takeBack(path) } // with the connection, its watches are lost
	l.watches = &watches{takeBack: takeBack, linger: time.Second, paths: make(map[string]*watchedPath)}
	l.life, l.end = context.WithCancelCause(parent)
	l.shut, l.shutting = context.WithCancel(context.Background())
	libraryLog, _ := zap.NewStdLogAt(log, zap.DebugLevel) // the library logs no secrets
	library, events, _ := gozk.Connect(p.hosts, ttl,      // fails only without hosts
		gozk.WithDialer(l.dial),
		gozk.WithHostProvider(provider{l}),
		gozk.WithEventCallback(l.event),
		gozk.WithLogger(libraryLog),
		gozk.WithLogInfo(false),
		gozk.WithMaxConnBufferSize(128<<10)) // for MaxData, some paths and access control lists
	l.change(func() { l.zk = library })
	context.AfterFunc(l.life, l.dropIfOver)
	l.calls.Go(func() { // ends with the library's last goroutine, which shutDown ends
		for range events { // event has had them
		}
	})
	return l
}

// call makes one request when the session is open on a connection. If ctx ends first, the
// request goes on, on a goroutine of the link, until it is answered or the connection is
// lost. The errors are the library's or, if the request was not sent, attempt.NotSent.
func call[T any](ctx context.Context, l *link, request func(*gozk.Conn) (T, error)) (value T, err error) {
	err = l.await(ctx, func() bool { return l.life.Err() != nil || l.up && l.trusted })
	if l.life.Err() != nil {
		return value, context.Cause(l.life)
	}
	if err != nil {
		return value, l.unreached(err)
	}
	answers := make(chan func() (T, error), 1)
	l.spawn(func() {
		defer l.guard()()
		value, err := request(l.zk)
		answers <- func() (T, error) { return value, err }
	})
	select { // an answer that is ready together with the end is as good as one that came before
	case answer := <-answers:
		return answer()
	case <-ctx.Done():
		return value, ctx.Err()
	case <-l.shut.Done():
		return value, gozk.ErrClosing
	}
}

// guard guards a request until stop is called. A server that does not answer gets another
// request: members of a cluster may overlook one until the next comes (seen with 3.8). If the
// server stays silent, the link goes to another one.
func (l *link) guard() (stop func()) {
	w, sent := l.current(), time.Now()
	nudge := time.AfterFunc(min(l.patience/4, 100*time.Millisecond), func() {
		l.spawn(func() { _, _, _ = l.zk.Exists("/") })
	})
	alarm := time.AfterFunc(l.patience, func() {
		if w.opened.Add(time.Duration(w.heard.Load())).Before(sent) {
			w.drop()
		}
	})
	return func() { nudge.Stop(); alarm.Stop() }
}

// unreached is the error of a request for which there was no connection in time.
func (l *link) unreached(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dialErr != nil {
		err = l.dialErr
	}
	if l.session == 0 && l.wire != nil { // a session may have been asked for
		return err
	}
	return attempt.NotSent(err)
}

var errRefused = errors.New("the server refused the transaction")

// multi makes a transaction. If the server refuses it the error Is errRefused.
func multi(ctx context.Context, l *link, ops ...any) ([]gozk.MultiResponse, error) {
	return call(ctx, l, func(c *gozk.Conn) ([]gozk.MultiResponse, error) {
		results, err := c.Multi(ops...)
		if err != nil && len(results) > 0 {
			err = fmt.Errorf("%w: %w", errRefused, err)
		}
		return results, err
	})
}

// agree has the servers agree on a transaction that changes nothing. The answer proves that a
// majority follows the leader, that the session lives, and that the server has seen all that
// was agreed on before, as pings, reads and syncs do not. A server that does not answer is
// left for another one.
func agree(ctx context.Context, l *link) error {
	w := l.current()
	alarm := time.AfterFunc(l.patience, func() { w.drop() })
	defer alarm.Stop()
	_, err := multi(ctx, l, &gozk.CheckVersionRequest{Path: "/", Version: -1})
	if errors.Is(err, errRefused) { // that was agreed on like anything else
		return nil
	}
	return err
}

// answers are the library's errors that say that nothing was done, by the end of their text:
// of some the library has only the number. The driver handles those of kind nil itself.
var answers = []struct {
	text string
	kind error
	says string // what the number means
}{
	{gozk.ErrNoAuth.Error(), driver.ErrDenied, ""},
	{gozk.ErrAuthFailed.Error(), driver.ErrDenied, ""},
	{gozk.ErrInvalidACL.Error(), driver.ErrDenied, ""},
	{gozk.ErrSessionExpired.Error(), driver.ErrSessionLost, ""},
	{gozk.ErrNoNode.Error(), nil, ""},
	{gozk.ErrBadVersion.Error(), nil, ""},
	{gozk.ErrNoChildrenForEphemerals.Error(), driver.ErrInvalid, ""},
	{"unknown error: -6", driver.ErrUnsupported, "the server does not know the request; the driver needs ZooKeeper 3.5.3 or later: "},
	{"unknown error: -119", driver.ErrUnavailable, "the server is read-only: "},
	{"unknown error: -125", driver.ErrDenied, "a quota is exceeded: "},
	{"unknown error: -127", driver.ErrUnavailable, "the server throttles requests: "},
}

// answered makes what a server has refused the error of a call. It leaves every other error
// as it is: the request may have been executed.
func answered(o attempt.Op, err error) error {
	if _, done := errors.AsType[*driver.Error](err); done || err == nil {
		return err
	}
	for _, a := range answers {
		if strings.HasSuffix(err.Error(), a.text) {
			return o.Failed(a.kind, fmt.Errorf("%s%w", a.says, err))
		}
	}
	switch {
	case errors.Is(err, errRefused):
		return o.Failed(driver.ErrInvalid, err)
	case errors.Is(err, gozk.ErrNoServer): // the library has dropped it unsent
		return attempt.NotSent(err)
	}
	return err
}

// invalid is the error of an argument that is wrong.
func invalid(o attempt.Op, format string, args ...any) error {
	return o.Failed(driver.ErrInvalid, fmt.Errorf(format, args...))
}

// unfinished is the error of a call that may have made a node and was refused what comes
// after. It Is ErrUncertain, so that the caller clears up.
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

// behind has f run right behind the next message that holds text. nil takes that back.
func (l *link) behind(text string, f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sending[text] = f; f == nil {
		delete(l.sending, text)
	}
}

// spawn runs f on a goroutine that shutDown waits for, but not after that.
func (l *link) spawn(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.start(f)
}

// endSession has the store end the session, on this connection and on each later one. nil says
// that there is no such session any more.
func (l *link) endSession(ctx context.Context) error {
	l.change(func() {
		if l.ending++; l.up {
			l.start(l.wire.endSession)
		}
	})
	defer func() {
		l.change(func() { l.ending-- })
		l.dropIfOver()
	}()
	return l.await(ctx, func() bool { return l.expired || l.session == 0 || l.shut.Err() != nil })
}

// shutDown ends the link, but not the session in the store. The library's Close may run on.
func (l *link) shutDown() {
	l.end(&driver.Error{Op: "session", Store: store, Kind: driver.ErrClosed})
	l.change(func() {
		l.shutting()
		l.wire.drop()
	})
	go l.zk.Close()
	l.calls.Wait()
}
