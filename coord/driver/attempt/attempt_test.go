package attempt_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
)

// hang is a request that gets no answer.
func hang(ctx context.Context) error {
	<-ctx.Done()
	return os.ErrDeadlineExceeded // as sockets have it
}

func TestDo(t *testing.T) {
	var errUser, errLife = errors.New("the user left"), &driver.Error{Store: "toy", Op: "connection", Kind: driver.ErrClosed}
	read := attempt.Op{Store: "toy", Name: "list", Key: "a", Limit: 3 * time.Second}
	write := read
	write.Write = true
	answer := read.Failed(driver.ErrGone, nil)
	for _, c := range []struct {
		name             string
		op               attempt.Op
		ctx, life        time.Duration // from when on they have ended; 0: never
		request          func(context.Context) error
		after            time.Duration
		is               []error
		isNot            []error
		says             string
		neverCalled, nil bool
	}{
		{name: "success", op: write, request: func(context.Context) error { return nil }, nil: true},
		{name: "an answer", op: write, request: func(context.Context) error { return answer }, is: []error{driver.ErrGone}, says: "toy: list a: node is gone"},
		{name: "an answer after ctx's end", op: write, ctx: time.Second, request: func(ctx context.Context) error { <-ctx.Done(); return answer },
			after: time.Second, is: []error{driver.ErrGone}, isNot: []error{context.Canceled}},
		{name: "a read's ctx ends", op: read, ctx: time.Second, request: hang, after: time.Second,
			is: []error{driver.ErrUnavailable, context.Canceled}, isNot: []error{errUser, os.ErrDeadlineExceeded}, says: "the user left"},
		{name: "a write's ctx ends", op: write, ctx: time.Second, request: hang, after: time.Second,
			is: []error{driver.ErrUncertain, context.Canceled}, isNot: []error{driver.ErrUnavailable}},
		{name: "life ends", op: write, life: time.Second, request: hang, after: time.Second, is: []error{driver.ErrClosed},
			isNot: []error{driver.ErrUncertain}, says: "toy: list a: toy: connection: closed"},
		{name: "both end", op: write, ctx: time.Second, life: time.Second, request: func(ctx context.Context) error { <-ctx.Done(); time.Sleep(time.Nanosecond); return io.EOF },
			after: time.Second + time.Nanosecond, is: []error{context.Canceled, driver.ErrUncertain}, isNot: []error{driver.ErrClosed}},
		{name: "no answer to a read", op: read, request: hang, after: 3 * time.Second, is: []error{driver.ErrUnavailable},
			isNot: []error{context.DeadlineExceeded}, says: "no answer within 3s"},
		{name: "no answer to a write", op: write, request: hang, after: 3 * time.Second, is: []error{driver.ErrUncertain}, says: "no answer within 3s"},
		{name: "no limit", op: attempt.Op{Store: "toy", Name: "wait"}, ctx: 100 * time.Hour, request: hang, after: 100 * time.Hour, is: []error{driver.ErrUnavailable, context.Canceled}},
		{name: "broken", op: write, request: func(context.Context) error { return io.EOF }, is: []error{driver.ErrUncertain, io.EOF}},
		{name: "not sent", op: write, request: func(context.Context) error { return attempt.NotSent(io.EOF) },
			is: []error{driver.ErrUnavailable, io.EOF}, isNot: []error{driver.ErrUncertain}, says: "toy: list a: store unavailable: EOF"},
		{name: "not sent, ctx ended", op: write, ctx: time.Second, request: func(ctx context.Context) error { return attempt.NotSent(hang(ctx)) },
			after: time.Second, is: []error{driver.ErrUnavailable, context.Canceled}},
		{name: "no answer, for a reason", op: read, request: func(ctx context.Context) error { <-ctx.Done(); return io.EOF }, after: 3 * time.Second,
			is: []error{driver.ErrUnavailable, io.EOF}, says: "no answer within 3s: EOF"},
		{name: "ctx ended before", op: write, ctx: -1, request: hang, is: []error{driver.ErrUnavailable, context.Canceled}, neverCalled: true},
		{name: "life ended before", op: write, life: -1, request: hang, is: []error{driver.ErrClosed}, neverCalled: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				end := func(why error, at time.Duration) context.Context {
					ctx, cancel := context.WithCancelCause(t.Context())
					t.Cleanup(func() { cancel(nil) })
					switch {
					case at < 0:
						cancel(why)
					case at > 0:
						time.AfterFunc(at, func() { cancel(why) })
					}
					return ctx
				}
				ctx, life := end(errUser, c.ctx), end(errLife, c.life)
				start, called := time.Now(), false
				err := c.op.Do(ctx, life, func(ctx context.Context) error { called = true; return c.request(ctx) })
				if took := time.Since(start); took != c.after {
					t.Errorf("it took %v; want %v", took, c.after)
				}
				if called == c.neverCalled {
					t.Errorf("the request was made: %v", called)
				}
				if (err == nil) != c.nil {
					t.Errorf("%v; want nil: %v", err, c.nil)
				}
				for _, want := range c.is {
					if !errors.Is(err, want) {
						t.Errorf("%v; want an error that Is %q", err, want)
					}
				}
				for _, unwanted := range c.isNot {
					if errors.Is(err, unwanted) {
						t.Errorf("%v; want no error that Is %q", err, unwanted)
					}
				}
				if err != nil && !strings.Contains(err.Error(), c.says) {
					t.Errorf("%v; want %q in it", err, c.says)
				}
			})
		})
	}
}

// A client that looks at the deadline itself may return before the context's timer has
// run. The error is the context's all the same.
func TestDeadlineAheadOfTheTimer(t *testing.T) {
	for range 200 {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		o := attempt.Op{Store: "toy", Name: "list", Limit: time.Hour}
		err := o.Do(ctx, t.Context(), func(ctx context.Context) error {
			for deadline, _ := ctx.Deadline(); time.Now().Before(deadline); { // busily, as a timer would be no earlier
			}
			return os.ErrDeadlineExceeded
		})
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
	}
}
