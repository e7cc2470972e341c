package coord_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
)

// What a client runs outlives its sessions, and ends with Close, which waits for
// it.
func TestGo(t *testing.T) {
	c, err := coord.New(mem.NewStore().Open("test"), coord.Config{})
	if err != nil {
		t.Fatal(err)
	}
	started, ended := make(chan struct{}), false
	if !c.Go(func(ctx context.Context) {
		close(started)
		<-ctx.Done()
		if _, err := c.Session(ctx); err == nil {
			t.Error("a session was opened while the client was being closed")
		}
		ended = true
	}) {
		t.Fatal("Go has not run it")
	}
	<-started
	s, err := c.Session(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !ended {
		t.Error("Close has not waited")
	}
	if c.Go(func(context.Context) { t.Error("run on a closed client") }) {
		t.Error("Go says that it runs on a closed client")
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error("closing again:", err)
	}
}

// A function that calls Close of what it belongs to does not hang, and is told why.
func TestCloseInGo(t *testing.T) {
	for name, within := range map[string]time.Duration{"patience": 0, "ctx": time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, err := coord.New(mem.NewStore().Open("test"), coord.Config{})
				if err != nil {
					t.Fatal(err)
				}
				s, err := c.Session(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				ctx, want := context.Background(), 5*time.Second
				if within > 0 {
					ctx, want = timeout(t, within), within
				}
				for _, run := range []struct {
					what  string
					run   func(func(context.Context)) bool
					close func(context.Context) error
				}{{"session", s.Go, s.Close}, {"client", c.Go, c.Close}} {
					closed := make(chan error)
					start := time.Now()
					run.run(func(context.Context) { closed <- run.close(ctx) })
					err := <-closed
					if took := time.Since(start); err == nil || took > want {
						t.Errorf("%s: Close returned %v after %v; want an error within %v", run.what, err, took, want)
					}
				}
				if err := c.Close(context.Background()); err != nil {
					t.Error("closing again:", err)
				}
			})
		})
	}
}

func timeout(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}
