package etcd

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/drivertest"
)

func opener(t *testing.T) driver.Opener { return drivertest.Opener(t, "etcd") }

func use(t *testing.T, target driver.Target) {
	t.Helper()
	drivertest.Use(t, target, 2*time.Second)
}

func TestOpen(t *testing.T) {
	use(t, targetOf(t, single.Get(t)))
	use(t, targetOf(t, triple.Get(t)))
}

func TestOpenOfAServerThatIsNotThere(t *testing.T) {
	nobody := driver.Target{Hosts: []string{drivertest.Silent(t)}, Namespace: "ns", Logger: zap.NewNop()}
	c, err := opener(t).Open(within(t), nobody) // does not wait for it
	must(t, err)
	ctx, cancel := context.WithTimeout(within(t), 50*time.Millisecond)
	defer cancel()
	_, err = c.OpenSession(ctx, time.Minute)
	wantIs(t, err, driver.ErrUnavailable, context.DeadlineExceeded)
	must(t, c.Close())

	nobody.Username, nobody.Password = "root", "secret"
	ctx, cancel = context.WithTimeout(within(t), 50*time.Millisecond)
	defer cancel()
	_, err = opener(t).Open(ctx, nobody) // cannot do without
	wantIs(t, err, driver.ErrUnavailable, context.DeadlineExceeded)
	_, err = opener(t).Open(ctx, nobody)
	wantIs(t, err, driver.ErrUnavailable, context.DeadlineExceeded)

	nobody.Params = map[string]string{"dial_timeout": "50ms"}
	_, err = opener(t).Open(within(t), nobody)
	wantIs(t, err, driver.ErrUnavailable)
	if errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%q blames the caller's ctx, which lives", err)
	}
}

func TestParams(t *testing.T) {
	checks := map[string]func(string) error{}
	for _, p := range opener(t).Params {
		checks[p.Name] = p.Check
	}
	tests := []struct {
		name, value string
		valid       bool
	}{
		{"dial_timeout", "2s", true},
		{"dial_timeout", "0s", false},
		{"dial_timeout", "soon", false},
		{"keepalive_time", "10s", true},
		{"keepalive_time", "9s", false}, // gRPC would take it for 10s
		{"keepalive_timeout", "1s", true},
		{"keepalive_timeout", "5", false},
	}
	for _, tt := range tests {
		if err := checks[tt.name](tt.value); (err == nil) != tt.valid {
			t.Errorf("%s=%s: %v; want valid: %v", tt.name, tt.value, err, tt.valid)
		}
	}
	got, err := parseSettings(map[string]string{"dial_timeout": "2s", "keepalive_time": "20s"})
	must(t, err)
	if want := (settings{2 * time.Second, 20 * time.Second, 3 * time.Second}); got != want {
		t.Errorf("parsed %+v; want %+v", got, want)
	}
	_, err = opener(t).Open(within(t), driver.Target{Hosts: []string{"x:1"}, Params: map[string]string{"dial_timeout": "x"}, Logger: zap.NewNop()})
	wantIs(t, err, driver.ErrInvalid)
}

func TestCapsAgreeWithTheInterfaces(t *testing.T) {
	f := start(t)
	drivertest.CapsAgree(t, f.conn, f.open(time.Minute), driver.CapShared|driver.CapDurable)
}

// The program closes its client too early.
func TestClientClosedUnderneath(t *testing.T) {
	t.Parallel()
	etcd := single.Get(t)
	client, err := clientv3.New(etcd.ClientConfig())
	must(t, err)
	c, err := New(client, namespace(t), nil)
	must(t, err)
	s, err := c.OpenSession(within(t), 2*time.Second)
	must(t, err)
	n, err := s.Create(within(t), "d", "0", nil)
	must(t, err)
	wait := waiting(within(t), s, n)
	must(t, client.Close())
	wantIs(t, receive(t, "the wait", wait), driver.ErrClosed)
	_, err = s.Create(within(t), "d", "1", nil)
	wantIs(t, err, driver.ErrClosed)
	receive(t, "Done", s.Done())
	wantIs(t, s.Err(), driver.ErrSessionLost)
	must(t, c.Close())
}

func TestNewUsesTheDefaultNamespace(t *testing.T) {
	etcd := single.Get(t)
	client := newClient(t, etcd.ClientConfig())
	_, err := New(client, "a//b", nil)
	wantIs(t, err, driver.ErrInvalid)
	c, err := New(client, "", &Options{})
	must(t, err)
	s, err := c.OpenSession(within(t), time.Minute)
	must(t, err)
	n, err := s.Create(within(t), "d", "0", nil)
	must(t, err)
	if !strings.HasPrefix(n.Key, "coordkit/d/") {
		t.Errorf("the key is %s", n.Key)
	}
	must(t, c.Close())
	_, err = client.Get(within(t), "x") // the client is still the caller's
	must(t, err)
}
