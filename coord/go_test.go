package coord_test

import (
	"context"
	"testing"

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
