package consul

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/drivertest"
	"github.com/coordkit/coordkit/internal/testserver"
)

func asError(err error, target **driver.Error) bool { return errors.As(err, target) }

// targetOf is a cluster as an Opener is given it.
func targetOf(t *testing.T, consul *testserver.Consul) driver.Target {
	t.Helper()
	var hosts []string
	for _, m := range consul.Members {
		_, host, _ := strings.Cut(m.Endpoint(), "://")
		hosts = append(hosts, host)
	}
	return driver.Target{
		Scheme:    "consul",
		Hosts:     hosts,
		Namespace: namespace(t),
		Token:     driver.Secret(consul.Token),
		Logger:    zap.NewNop(),
	}
}

func opener(t *testing.T) driver.Opener { return drivertest.Opener(t, "consul") }

func use(t *testing.T, target driver.Target) {
	t.Helper()
	drivertest.Use(t, target, 10*time.Second)
}

func TestOpen(t *testing.T) {
	use(t, targetOf(t, single.Get(t)))
	use(t, targetOf(t, triple.Get(t)))
}

func TestOpenOfAnAgentThatIsNotThere(t *testing.T) {
	nobody := driver.Target{Hosts: []string{drivertest.Silent(t)}, Namespace: "ns", Logger: zap.NewNop()}
	c, err := opener(t).Open(within(t), nobody) // does not wait for it
	must(t, err)
	ctx, cancel := context.WithTimeout(within(t), time.Second) // the request is on its way by then
	defer cancel()
	_, err = c.OpenSession(ctx, time.Minute)
	wantIs(t, err, driver.ErrUncertain, context.DeadlineExceeded)
	_, err = c.List(ctx, "d")
	wantIs(t, err, context.DeadlineExceeded)
	_, err = opener(t).Open(ctx, nobody)
	wantIs(t, err, driver.ErrUnavailable, context.DeadlineExceeded)
	must(t, c.Close())
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
		{"consul_namespace", "team-a", true},
		{"consul_namespace", "", false},
		{"consul_namespace", "a/b", false},
		{"partition", "part_1", true},
		{"partition", "*", false},
		{"datacenter", "dc1", true},
		{"datacenter", "-dc", false},
		{"datacenter", strings.Repeat("d", 65), false},
		{"dial_timeout", "2s", true},
		{"dial_timeout", "0s", false},
		{"dial_timeout", "soon", false},
	}
	for _, tt := range tests {
		if err := checks[tt.name](tt.value); (err == nil) != tt.valid {
			t.Errorf("%s=%s: %v; want valid: %v", tt.name, tt.value, err, tt.valid)
		}
	}
	for _, wrong := range []driver.Target{
		{Hosts: []string{"x:1"}, Params: map[string]string{"dial_timeout": "x"}},
		{},
	} {
		_, err := opener(t).Open(within(t), wrong)
		wantIs(t, err, driver.ErrInvalid)
	}
}

func TestOpenerSaysWhatAURLMayHold(t *testing.T) {
	o := opener(t)
	if o.DefaultPort != "8500" || !o.TLS || !o.Token || o.Password || o.Local || o.MinTTL != 0 || o.MaxTTL != 24*time.Hour {
		t.Errorf("the opener is %+v", o)
	}
}

// On a client of the program's own.
func TestNew(t *testing.T) {
	consul := single.Get(t)
	wire := new(http.Transport)
	defer wire.CloseIdleConnections()
	client, err := api.NewClient(&api.Config{Address: consul.Member(0).Endpoint(), HttpClient: &http.Client{Transport: wire}})
	must(t, err)
	c, err := New(client, "", &Options{})
	must(t, err)
	s, err := c.OpenSession(within(t), time.Minute)
	must(t, err)
	n, err := s.Create(within(t), "d", "0", nil)
	must(t, err)
	if !strings.HasPrefix(n.Key, "coordkit/d/") {
		t.Errorf("the key is %s", n.Key)
	}
	must(t, s.Close(within(t)))
	drivertest.TryOut(t, c, 10*time.Second)
	must(t, c.Close())
	another, err := New(client, "/x/y/", nil)
	must(t, err)
	must(t, another.Close())
	for _, wrong := range []string{"a//b", ".", "../x", "a b", "x?"} {
		_, err := New(client, wrong, nil)
		wantIs(t, err, driver.ErrInvalid)
	}
	_, _, err = client.KV().Get("x", nil) // the client is still the caller's
	must(t, err)
}

func TestCapsAgreeWithTheInterfaces(t *testing.T) {
	f := start(t)
	drivertest.CapsAgree(t, f.conn, f.open(time.Minute), driver.CapShared|driver.CapDurable)
}

// Parameters of Consul Enterprise go with every request, and with every
// operation of a transaction: there they are not taken from the URL.
func TestEnterpriseParameters(t *testing.T) {
	var got atomic.Pointer[api.TxnOps]
	var query atomic.Value
	host := posing(t, func(w http.ResponseWriter, r *http.Request) {
		query.Store(r.URL.Query().Encode())
		switch {
		case r.URL.Path == "/v1/session/create":
			_, _ = w.Write([]byte(`{"ID":"` + someSession + `"}`))
		case r.URL.Path == "/v1/txn":
			var ops api.TxnOps
			_ = json.NewDecoder(r.Body).Decode(&ops)
			got.Store(&ops)
			_ = json.NewEncoder(w).Encode(api.TxnResponse{Results: api.TxnResults{{KV: entryFor(waitedFor("0", 100), 100, 100)}, {KV: entryFor(waitedFor("0", 100), 100, 100)}}})
		default:
			_, _ = w.Write([]byte("true"))
		}
	})
	c, err := opener(t).Open(context.Background(), driver.Target{
		Hosts: []string{host}, Namespace: "ns",
		Params: map[string]string{"consul_namespace": "team", "partition": "part", "datacenter": "dc2"},
	})
	must(t, err)
	s, err := c.OpenSession(within(t), time.Minute)
	must(t, err)
	const want = "dc=dc2&ns=team&partition=part"
	if q := query.Load(); q != want {
		t.Errorf("the session was opened with %q; want %q", q, want)
	}
	_, err = s.Create(within(t), "d", "0", nil)
	must(t, err)
	if q := query.Load(); q != want {
		t.Errorf("the transaction was sent with %q; want %q", q, want)
	}
	for _, op := range *got.Load() {
		if op.KV.Namespace != "team" || op.KV.Partition != "part" {
			t.Errorf("operation %s %s is for namespace %q and partition %q", op.KV.Verb, op.KV.Key, op.KV.Namespace, op.KV.Partition)
		}
	}
	must(t, c.Close())
}

// A tenant that only the environment names is that of transactions as well.
func TestTenantOfTheEnvironment(t *testing.T) {
	t.Setenv("CONSUL_NAMESPACE", "team-a")
	t.Setenv("CONSUL_PARTITION", "part-b")
	c, err := openOn(within(t), driver.Target{Hosts: []string{"127.0.0.1:1"}, Namespace: "x"})
	must(t, err)
	defer c.Close()
	if want := (tenant{"team-a", "part-b"}); c.tenant != want {
		t.Errorf("transactions are for %+v; want %+v", c.tenant, want)
	}
}

func TestTokenOfSeveralLines(t *testing.T) {
	_, err := openOn(within(t), driver.Target{Hosts: []string{"127.0.0.1:1"}, Namespace: "x", Token: "one\ntwo"})
	wantIs(t, err, driver.ErrInvalid)
	t.Setenv("CONSUL_HTTP_TOKEN", "one\ntwo")
	_, err = openOn(within(t), driver.Target{Hosts: []string{"127.0.0.1:1"}, Namespace: "x"})
	wantIs(t, err, driver.ErrInvalid)
}
