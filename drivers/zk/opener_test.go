package zk

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/drivertest"
	"github.com/coordkit/coordkit/internal/testserver"
)

func opener(t *testing.T) driver.Opener { return drivertest.Opener(t, "zk") }

// targetOf is a store as an Opener is given it.
func targetOf(t *testing.T, z *testserver.ZooKeeper) driver.Target {
	return driver.Target{Scheme: "zk", Hosts: endpoints(z), Namespace: namespaceOf(t), Logger: zap.NewNop()}
}

func use(t *testing.T, target driver.Target) {
	t.Helper()
	drivertest.Use(t, target, 5*time.Second)
}

func TestOpen(t *testing.T) {
	use(t, targetOf(t, single.Get(t)))
	use(t, targetOf(t, triple.Get(t)))
}

func TestOpenOfAHostByName(t *testing.T) {
	target := targetOf(t, single.Get(t))
	_, port, err := net.SplitHostPort(target.Hosts[0])
	must(t, err)
	target.Hosts = []string{"localhost:" + port}
	use(t, target)
}

func TestOpenOfAServerThatIsNotThere(t *testing.T) {
	for _, tt := range []struct {
		name, host string
		kind       error
	}{
		{"refusing", drivertest.Refusing(t), driver.ErrUnavailable},
		{"silent", drivertest.Silent(t), driver.ErrUncertain}, // it has been asked
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, err := opener(t).Open(within(t), driver.Target{Hosts: []string{tt.host}, Namespace: "ns", Logger: zap.NewNop()})
			must(t, err) // does not wait for it
			// Long enough to ask the one that is silent.
			ctx, cancel := context.WithTimeout(within(t), time.Second)
			defer cancel()
			_, err = c.OpenSession(ctx, time.Minute)
			wantIs(t, err, tt.kind, context.DeadlineExceeded)
			ctx, cancel = context.WithTimeout(within(t), 100*time.Millisecond)
			defer cancel()
			_, err = c.List(ctx, "d")
			wantIs(t, err, driver.ErrUnavailable, context.DeadlineExceeded)
			must(t, c.Close())
		})
	}
}

// What the driver waits for it waits for by its own time, and does not blame the
// caller's ctx, which lives.
func TestServerWithWhichThereIsNoHandshake(t *testing.T) {
	c, err := opener(t).Open(within(t), driver.Target{
		Hosts: []string{drivertest.Silent(t)}, Namespace: "ns", TLS: new(tls.Config), Logger: zap.NewNop(),
	})
	must(t, err)
	for name, call := range map[string]func() error{
		"open session": func() error { _, err := c.OpenSession(within(t), time.Second); return err },
		"list":         func() error { _, err := c.List(within(t), "d"); return err },
	} {
		err := call()
		wantIs(t, err, driver.ErrUnavailable)
		if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "deadline") {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, c.Close())
}

// A server that does not answer costs an attempt and not the session.
func TestOpenGoesRoundASilentServer(t *testing.T) {
	target := targetOf(t, single.Get(t))
	target.Hosts = append(target.Hosts, drivertest.Silent(t), drivertest.Refusing(t))
	for range 3 { // the order is random
		c, err := opener(t).Open(within(t), target)
		must(t, err)
		var s driver.Session
		for s == nil {
			s, err = c.OpenSession(within(t), 10*time.Second)
			if err != nil && !driver.Transient(err) {
				t.Fatal(err)
			}
		}
		_, err = s.Create(within(t), "d", "0", nil)
		must(t, err)
		must(t, c.Close())
	}
}

func TestTargetsThatAreRefused(t *testing.T) {
	good := driver.Target{Hosts: []string{"x:1"}, Namespace: "ns", Logger: zap.NewNop()}
	for name, spoil := range map[string]func(*driver.Target){
		"acl without a user": func(t *driver.Target) { t.Params = map[string]string{"acl": "creator"} },
		"colon in the user":  func(t *driver.Target) { t.Username, t.Password = "a:b", "secret" },
		"ZooKeeper's own":    func(t *driver.Target) { t.Namespace = "zookeeper/x" },
		"no hosts":           func(t *driver.Target) { t.Hosts = nil },
	} {
		target := good
		spoil(&target)
		_, err := opener(t).Open(within(t), target)
		wantIs(t, err, driver.ErrInvalid)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %q shows the password", name, err)
		}
	}
	ctx, cancel := context.WithCancel(within(t))
	cancel()
	_, err := opener(t).Open(ctx, good)
	wantIs(t, err, context.Canceled)
	_, err = coord.Open(within(t), "zk://x/ns?acl=me")
	wantIs(t, err, coord.ErrInvalid)
}

func TestOpenerSaysWhatAURLMayHold(t *testing.T) {
	o := opener(t)
	const longest = 1<<31*time.Millisecond - time.Millisecond
	if o.DefaultPort != "2181" || !o.TLS || o.Token || !o.Password || o.Local || o.MinTTL != time.Millisecond || o.MaxTTL != longest {
		t.Errorf("the opener is %+v", o)
	}
	for url, want := range map[string]string{
		"zk://x/ns?session_ttl=1us":  "want 1ms to 596h31m23.647s",
		"zk://x/ns?session_ttl=600h": "want 1ms to 596h31m23.647s",
		"zk://x/ns?session_ttl=40s":  "",
	} {
		c, err := coord.Open(within(t), url)
		if want != "" {
			wantIs(t, err, driver.ErrInvalid)
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v; want %q", url, err, want)
			}
			continue
		}
		must(t, err)
		must(t, c.Close(within(t)))
	}
}

func TestParams(t *testing.T) {
	for _, p := range opener(t).Params {
		for value, valid := range map[string]bool{"open": true, "creator": true, "": false, "world": false} {
			if err := p.Check(value); (err == nil) != valid {
				t.Errorf("%s=%s: %v; want valid: %v", p.Name, value, err, valid)
			}
		}
	}
}

func TestCapsAgreeWithTheInterfaces(t *testing.T) {
	f := start(t)
	drivertest.CapsAgree(t, f.conn, f.open(long), driver.CapShared|driver.CapDurable)
}
