package consul

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
)

// waysOf returns both ways to the agent of a connection.
func waysOf(c *conn) (directly, library keys) {
	a := c.agents.current()
	return a.keys.(*direct), newLibrary(a.Client)
}

func (f *fixture) ways() (directly, library keys) { return waysOf(f.conn) }

// request is one as it comes to an agent.
type request struct {
	method, path string
	query        url.Values
	header       map[string]string
	ops          api.TxnOps
}

// recorder notes the latest request.
type recorder struct {
	t    *testing.T
	mu   sync.Mutex
	last request
}

func (r *recorder) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	last := request{method: req.Method, path: req.URL.Path, header: make(map[string]string)}
	var err error
	if last.query, err = url.ParseQuery(req.URL.RawQuery); err != nil {
		r.t.Error(err)
	}
	for name, values := range req.Header {
		if name != "User-Agent" && name != "Content-Type" {
			last.header[name] = fmt.Sprint(values)
		}
	}
	last.header["Host"] = req.Host
	body, err := io.ReadAll(req.Body)
	if err != nil {
		r.t.Error(err)
	}
	delete(last.header, "Content-Length") // bodies are another length
	if len(body) > 0 {
		last.ops = readOps(r.t, body)
	}
	r.mu.Lock()
	r.last = last
	r.mu.Unlock()
	answerWith(w, 7)
}

// What goes directly comes to an agent as what goes by package api.
func TestBothWaysSendTheSame(t *testing.T) {
	r := &recorder{t: t}
	host := posing(t, r.ServeHTTP)
	file := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(file, []byte("from-a-file\n"), 0o600))
	for what, tt := range map[string]struct {
		env    map[string]string
		token  driver.Secret
		params map[string]string
	}{
		"nothing":                    {},
		"a token":                    {token: "secret"},
		"parameters":                 {params: map[string]string{"datacenter": "dc2", "consul_namespace": "team", "partition": "part"}},
		"a token of the environment": {env: map[string]string{"CONSUL_HTTP_TOKEN": "secret"}},
		"a token that counts more":   {env: map[string]string{"CONSUL_HTTP_TOKEN": "another"}, token: "secret"},
		"a token of a file":          {env: map[string]string{"CONSUL_HTTP_TOKEN_FILE": file, "CONSUL_HTTP_TOKEN": "another"}},
		"a token, not of the file":   {env: map[string]string{"CONSUL_HTTP_TOKEN_FILE": file}, token: "secret"},
		"a password":                 {env: map[string]string{"CONSUL_HTTP_AUTH": "me:se:cret"}, token: "secret"},
		"a name":                     {env: map[string]string{"CONSUL_HTTP_AUTH": "me"}},
		"odd names":                  {env: map[string]string{"CONSUL_NAMESPACE": "a b&c=d\r\nX: y", "CONSUL_PARTITION": "ä?#"}},
		"others' addresses":          {env: map[string]string{"CONSUL_HTTP_ADDR": "https://elsewhere:1/x", "CONSUL_HTTP_SSL": "true"}},
	} {
		t.Run(what, func(t *testing.T) {
			for name, value := range tt.env {
				t.Setenv(name, value)
			}
			c, err := openWith(within(t), driver.Target{Hosts: []string{host}, Namespace: "ns", Token: tt.token, Params: tt.params}, defaultTiming)
			must(t, err)
			directly, library := waysOf(c)
			for _, key := range []string{"ns/d/0", "ns/d/", "a=20b", "/a", "a b/ä+?&#=;:@!$'()*,[]%25.~", "a//b", "语/\x01\"<>\\^`{|}"} {
				for name, send := range callsOf(key) {
					var got [2]request
					for i, way := range []keys{directly, library} {
						send(within(t), way)
						r.mu.Lock()
						got[i] = r.last
						r.last = request{}
						r.mu.Unlock()
					}
					if !reflect.DeepEqual(got[0], got[1]) || got[0].path == "" {
						t.Errorf("%s %q: directly %+v; by package api %+v", name, key, got[0], got[1])
					}
				}
			}
			must(t, c.Close())
		})
	}
}

// callsOf are all requests about a key, whose answers do not matter.
func callsOf(key string) map[string]func(context.Context, keys) {
	calls := map[string]func(context.Context, keys){
		"remove":   func(ctx context.Context, way keys) { _, _ = way.remove(ctx, key, 18446744073709551615) },
		"transact": func(ctx context.Context, way keys) { _, _ = way.transact(ctx, everyOp(key, someSession, []byte{1}, 5)) },
	}
	for name, q := range map[string]api.QueryOptions{
		"plain":      {},
		"consistent": {RequireConsistent: true},
		"waiting":    {WaitIndex: 7, WaitTime: 7 * time.Second},
		"both":       {WaitIndex: 18446744073709551615, WaitTime: time.Microsecond, RequireConsistent: true},
	} {
		maps.Copy(calls, map[string]func(context.Context, keys){
			"get, " + name:  func(ctx context.Context, way keys) { _, _, _ = way.Get(key, q.WithContext(ctx)) },
			"list, " + name: func(ctx context.Context, way keys) { _, _, _ = way.List(key, q.WithContext(ctx)) },
		})
	}
	return calls
}

// What cannot be written into a header as it is is left to package api, which says so
// or puts it right.
func TestWhatIsNotSentDirectly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	open := func(config *driver.Target) keys {
		c, err := openWith(within(t), *config, defaultTiming)
		must(t, err)
		t.Cleanup(func() { must(t, c.Close()) })
		return c.agents.current().keys
	}
	target := &driver.Target{Hosts: []string{"127.0.0.1:1"}, Namespace: "ns"}
	t.Setenv("CONSUL_HTTP_TOKEN_FILE", file)
	for _, token := range []string{"two\r\nlines: 1", "tab\t", "ä", "\x7f"} {
		must(t, os.WriteFile(file, []byte("a"+token+"b"), 0o600))
		if way, ok := open(target).(library); !ok {
			t.Errorf("token %q is sent by %T", token, way)
		}
	}
	must(t, os.WriteFile(file, []byte("a"), 0o600))
	for _, host := range []string{"[fe80::1%25lo]:8500", "bücher.example:8500"} {
		target.Hosts = []string{host}
		if way, ok := open(target).(library); !ok {
			t.Errorf("to %s it goes by %T", host, way)
		}
	}
	target.Hosts = []string{"[::1]:8500"}
	if way, ok := open(target).(*direct); !ok {
		t.Errorf("it goes by %T", way)
	}
}
