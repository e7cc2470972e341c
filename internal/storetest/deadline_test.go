package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/coordkit/coordkit/internal/testserver"
	"github.com/coordkit/coordkit/recipes/mutex"
)

func TestDeadlineOnFrozenEtcd(t *testing.T) {
	deadlines(t, startEtcd(t, testserver.EtcdOptions{}))
}

func TestDeadlineOnFrozenZooKeeper(t *testing.T) {
	deadlines(t, startZooKeeper(t, testserver.ZooKeeperOptions{}))
}

func TestDeadlineOnFrozenConsul(t *testing.T) {
	deadlines(t, startConsul(t, testserver.ConsulOptions{}))
}

// moment is how late a call may be: less than the shortest time after which a driver
// would give up by itself. No call needs it but on a busy machine.
const moment = time.Second

// With the server stopped in the middle of everything, each call ends with its
// ctx and not later than a moment after it.
func deadlines(t *testing.T, s *store) {
	// Longer than the server stops, and not so long that a session of which
	// nobody was told is there at the end.
	const ttl = 10 * time.Second
	server, addrs := s.members[0], hosts(s.Endpoints()...)
	client := s.dial(t, ttl, addrs...)
	ctx := t.Context()
	m := mutex.New(client, "held")
	held, err := m.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	fresh := s.dial(t, ttl, addrs...) // has no session yet
	leaving := s.dial(t, ttl, addrs...)
	if _, err := leaving.Session(ctx); err != nil {
		t.Fatal(err)
	}
	if err := server.Freeze(); err != nil {
		t.Fatal(err)
	}
	for what, call := range map[string]func(context.Context) error{
		"Lock":                   func(ctx context.Context) error { _, err := m.Lock(ctx); return err },
		"TryLock":                func(ctx context.Context) error { _, err := m.TryLock(ctx); return err },
		"Contenders":             func(ctx context.Context) error { _, err := m.Contenders(ctx); return err },
		"Lock without a session": func(ctx context.Context) error { _, err := mutex.New(fresh, "held").Lock(ctx); return err },
		"NewSession":             func(ctx context.Context) error { _, err := client.NewSession(ctx, 0); return err },
		"Unlock":                 held.Unlock,
		"Close":                  leaving.Close,
	} {
		ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
		err := call(ctx)
		end, _ := ctx.Deadline()
		late := time.Since(end)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s returned %v; want the end of its ctx", what, err)
		}
		if late > moment {
			t.Errorf("%s returned %v after its ctx's deadline", what, late)
		}
	}
	if err := server.Thaw(); err != nil {
		t.Fatal(err)
	}
	if err := held.Unlock(ctx); err != nil {
		t.Errorf("Unlock, once the server is back: %v", err)
	}
	await(ctx, t, m, empty)
}
