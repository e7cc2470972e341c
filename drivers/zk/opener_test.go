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
	"github.com/coordkit/coordkit/internal/testserver"
)

func opener(t *testing.T) driver.Opener {
	t.Helper()
	o, err := driver.DefaultMux.Lookup("zk")
	must(t, err)
	return o
}

// targetOf is a store as an Opener is given it.
func targetOf(t *testing.T, z *testserver.ZooKeeper) driver.Target {
	return driver.Target{Scheme: "zk", Hosts: endpoints(z), Namespace: namespaceOf(t), Logger: zap.NewNop()}
}

// use opens a connection, does a little of everything with it and closes it.
func use(t *testing.T, target driver.Target) {
	t.Helper()
	c, err := opener(t).Open(within(t), target)
	must(t, err)
	s, err := c.OpenSession(within(t), 5*time.Second)
	must(t, err)
	n, err := s.Create(within(t), "d", "0", nil)
	must(t, err)
	wait := waiting(within(t), s, n)
	nodes, err := c.List(within(t), "d")
	must(t, err)
	if len(nodes) != 1 || !nodes[0].Same(n) {
		t.Errorf("listed %+v; want %+v", nodes, n)
	}
	must(t, s.Delete(within(t), n))
	must(t, receive(t, "the wait", wait))
	must(t, s.Close(within(t)))
	nodes, err = c.List(within(t), "d")
	if err != nil || len(nodes) != 0 {
		t.Errorf("listed %+v, %v; want nothing", nodes, err)
	}
	must(t, c.Close())
	_, err = c.List(within(t), "d")
	wantIs(t, err, driver.ErrClosed)
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

// silent is an address that accepts connections and says nothing.
func silent(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { must(t, l.Close()) })
	return l.Addr().String()
}

// refusing is an address where nobody listens.
func refusing(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	must(t, l.Close())
	return l.Addr().String()
}

func TestOpenOfAServerThatIsNotThere(t *testing.T) {
	for _, tt := range []struct {
		name, host string
		kind       error
	}{
		{"refusing", refusing(t), driver.ErrUnavailable},
		{"silent", silent(t), driver.ErrUncertain}, // it has been asked
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
		Hosts: []string{silent(t)}, Namespace: "ns", TLS: new(tls.Config), Logger: zap.NewNop(),
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
	target.Hosts = append(target.Hosts, silent(t), refusing(t))
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
		"unknown acl":        func(t *driver.Target) { t.Params = map[string]string{"acl": "me"} },
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
	s := driver.Session(f.open(long))
	_, lists := s.(driver.CreateLister)
	_, waits := s.(driver.AnyWaiter)
	if c := f.Caps(); c.Has(driver.CapCreateList) != lists || c.Has(driver.CapWaitAny) != waits || !c.Has(driver.CapShared|driver.CapDurable) {
		t.Errorf("caps are %v", c)
	}
}
