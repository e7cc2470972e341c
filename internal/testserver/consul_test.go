package testserver

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"
)

// createSession asks for a session with a TTL.
func (c consulKV) createSession(t *testing.T, ttl string) error {
	t.Helper()
	_, err := c.request(patient(t), http.MethodPut, 0, "/v1/session/create", `{"TTL":"`+ttl+`","NodeChecks":[]}`)
	return err
}

// self asks the server for its version and for one of its settings.
func (c consulKV) self(t *testing.T) (version string, maxConns int) {
	t.Helper()
	text, err := c.request(patient(t), http.MethodGet, 0, "/v1/agent/self", "")
	must(t, err)
	var self struct {
		Config      struct{ Version string }
		DebugConfig struct{ HTTPMaxConnsPerClient int }
	}
	must(t, json.Unmarshal([]byte(text), &self))
	return self.Config.Version, self.DebugConfig.HTTPMaxConnsPerClient
}

func mustRefuse(t *testing.T, what string, err error, why string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("%s: %v, expected that it is refused with %q", what, err, why)
	}
}

// A server is the pinned one, and all that clients may run into is as shipped.
func TestConsulServes(t *testing.T) {
	consul := consulKV{StartConsul(t, ConsulOptions{})}
	version, maxConns := consul.self(t)
	if version != "1.22.7" {
		t.Errorf("the server is Consul %s, want the pinned 1.22.7", version)
	}
	if maxConns != 200 {
		t.Errorf("a client may have %d connections, want 200", maxConns)
	}
	mustRefuse(t, "a session of 9 s", consul.createSession(t, "9s"), "must be between [10s=")
	must(t, consul.createSession(t, "10s"))
}

func TestConsulConfiguration(t *testing.T) {
	consul := consulKV{StartConsul(t, ConsulOptions{
		Dev:           true,
		SessionTTLMin: 500 * time.Millisecond,
		ExtraConfig:   map[string]any{"limits": map[string]any{"http_max_conns_per_client": 7}},
	})}
	must(t, consul.createSession(t, "500ms"))
	mustRefuse(t, "a session of 400 ms", consul.createSession(t, "400ms"), "must be between [500ms=")
	if _, maxConns := consul.self(t); maxConns != 7 {
		t.Errorf("a client may have %d connections, want 7", maxConns)
	}

	must(t, consul.put(patient(t), 0, "k", "v"))
	must(t, consul.Member(0).Restart())
	must(t, consul.WaitHealthy(patient(t)))
	_, err := consul.get(patient(t), 0, "k")
	mustRefuse(t, "a key from before the restart of a server that keeps nothing", err, "404 Not Found")
}

func TestConsulACL(t *testing.T) {
	cluster := StartConsul(t, ConsulOptions{ACL: true})
	consul, nobody := consulKV{cluster}, consulKV{&Consul{cluster: cluster.cluster, Members: cluster.Members}}
	must(t, consul.put(patient(t), 0, "k", "v"))
	_, err := nobody.get(patient(t), 0, "k")
	mustRefuse(t, "a read without a token", err, "403 Forbidden")
	mustRefuse(t, "a write without a token", nobody.put(patient(t), 0, "k", "w"), "403 Forbidden")

	must(t, cluster.Member(0).Restart())
	must(t, cluster.WaitHealthy(patient(t)))
	if leader, err := cluster.Leader(patient(t)); leader != 0 || err != nil {
		t.Errorf("Leader: %d, %v", leader, err)
	}
	if got, err := consul.get(patient(t), 0, "k"); got != "v" || err != nil {
		t.Errorf("the key is %q, %v, want %q", got, err, "v")
	}
	if strings.Contains(cluster.Member(0).LogTail(), cluster.Token) {
		t.Error("the log holds the token")
	}
}

func TestConsulDemandsAClientCertificate(t *testing.T) {
	consul := consulKV{StartConsul(t, ConsulOptions{TLS: true, Dev: true})}
	must(t, consul.put(patient(t), 0, "k", "v"))
	if leader, err := consul.Leader(patient(t)); leader != 0 || err != nil {
		t.Errorf("Leader: %d, %v", leader, err)
	}
	refusesStrangers(t, consul.TLS, strings.TrimPrefix(consul.Member(0).Endpoint(), "https://"))
}

func TestConsulOptionsAreChecked(t *testing.T) {
	for _, c := range []struct {
		opts ConsulOptions
		want string
	}{
		{ConsulOptions{Members: 2}, "Members is 2"},
		{ConsulOptions{SessionTTLMin: -1}, "SessionTTLMin is -1ns"},
		{ConsulOptions{Members: 3, Dev: true}, "Dev is set"},
		{ConsulOptions{ExtraConfig: map[string]any{"x": func() {}}}, "ExtraConfig"},
	} {
		if _, err := NewConsul(t.Context(), c.opts); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, expected %q", c.opts, err, c.want)
		}
	}
}
