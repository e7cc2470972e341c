package coordkit_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// The programs in doc/guide.md and doc/errors.md are parts of these functions.

func TestGuideWithoutServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := mem.NewStore()
		client, err := coord.New(store.Open("app"), coord.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close(t.Context())

		held, err := mutex.New(client, "deploy").Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		store.Expire(held.Session().ID()) // as an operator would
		<-held.Done()                     // takes no time
		if !errors.Is(held.Err(), coord.ErrSessionLost) {
			t.Errorf("the hold ended with %v", held.Err())
		}
	})
}

func guideStop(ctx context.Context, client *coord.Client) error {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return client.Close(last)
}

func guideUnlock(ctx context.Context, m *mutex.Mutex, write func(ctx context.Context, token uint64) error) (err error) {
	held, err := m.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = errors.Join(err, held.Unlock(last))
	}()
	work, cancel := held.Within(ctx) // ends with the lock, and with ctx
	defer cancel()
	return write(work, held.Token())
}

func guideSession(ctx context.Context, client *coord.Client, work func(ctx context.Context, token uint64) error) error {
	session, err := client.NewSession(ctx, time.Minute)
	if err != nil {
		return err
	}
	defer session.Close(context.WithoutCancel(ctx))
	return mutex.New(client, "import", coord.WithSession(session)).Do(ctx, work)
}

func guideReenter(ctx context.Context, m *mutex.Mutex, update func(ctx context.Context, token uint64) error) error {
	return m.Do(ctx, func(ctx context.Context, _ uint64) error {
		return m.Do(ctx, update) // enters at once, with the same token
	})
}

func errorsAfterDo(ctx context.Context, m *mutex.Mutex, work func(ctx context.Context, token uint64) error) string {
	err := m.Do(ctx, work)
	switch {
	case coord.Lost(err):
		return "what work did last may not have been protected"
	case errors.Is(err, context.Canceled):
		return "ctx ended; the lock was held all the time"
	}
	return ""
}

func TestGuidePrograms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := mem.NewStore()
		client, err := coord.New(store.Open("app"), coord.Config{})
		if err != nil {
			t.Fatal(err)
		}
		m := mutex.New(client, "deploy")
		ctx, cancel := context.WithCancel(t.Context())
		tokens := []uint64{}
		note := func(_ context.Context, token uint64) error {
			tokens = append(tokens, token)
			return nil
		}
		ended := func(ctx context.Context, token uint64) error {
			cancel()
			return note(ctx, token)
		}
		if err := errors.Join(guideSession(ctx, client, note), guideReenter(ctx, m, note), guideUnlock(ctx, m, ended)); err != nil || len(tokens) != 3 {
			t.Errorf("the programs returned %v, with tokens %v", err, tokens)
		}
		if left, err := m.Contenders(t.Context()); err != nil || len(left.Holders) > 0 {
			t.Errorf("left after ctx has ended: %v, %v", left, err)
		}

		ctx, cancel = context.WithCancel(t.Context())
		if got := errorsAfterDo(ctx, m, func(ctx context.Context, _ uint64) error { cancel(); <-ctx.Done(); return ctx.Err() }); got != "ctx ended; the lock was held all the time" {
			t.Errorf("after a cancel: %q", got)
		}
		lost := func(ctx context.Context, _ uint64) error {
			session, err := client.Session(ctx)
			if err != nil {
				return err
			}
			store.Expire(session.ID())
			<-ctx.Done()
			return nil
		}
		if got := errorsAfterDo(t.Context(), m, lost); got != "what work did last may not have been protected" {
			t.Errorf("after a loss: %q", got)
		}
		if err := guideStop(ctx, client); err != nil || store.Stats() != (mem.Stats{}) {
			t.Errorf("Close returned %v and left %+v", err, store.Stats())
		}
	})
}
