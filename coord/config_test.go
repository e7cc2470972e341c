package coord_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// probe is a driver that only records what it was asked to open.
type probe struct {
	driver.Mux
	got driver.Target
}

var errProbe = errors.New("the probe opens nothing")

func newProbe() *probe {
	p := &probe{}
	open := func(_ context.Context, t driver.Target) (driver.Conn, error) {
		p.got = t
		return nil, errProbe
	}
	p.Register("full", driver.Opener{
		Open: open, DefaultPort: "2379", TLS: true, Password: true, Token: true,
		MinTTL: 2 * time.Second, MaxTTL: time.Hour,
		Params: []driver.Param{
			{Name: "dial_timeout", Check: func(v string) error { _, err := time.ParseDuration(v); return err }},
			{Name: "dc"},
		},
	})
	p.Register("local", driver.Opener{Open: open, Local: true})
	return p
}

func (p *probe) open(c coord.Config) error {
	c.Mux = &p.Mux
	_, err := c.Open(context.Background())
	return err
}

func TestURLReachesTheDriver(t *testing.T) {
	tests := []struct {
		url       string
		hosts     string
		namespace string
	}{
		{"full://a", "a:2379", "coordkit"},
		{"full://a/", "a:2379", "coordkit"},
		{"FULL://a:1", "a:1", "coordkit"},
		{"full://a:1,b,c:3/x", "a:1 b:2379 c:3", "x"},
		{"full://[::1]:7,[fe80::1%eth0]/n", "[::1]:7 [fe80::1%eth0]:2379", "n"},
		{"full://[fe80::1%25eth0]:1/n", "[fe80::1%eth0]:1", "n"},
		{"full://my_host.example-1.com/a/b/", "my_host.example-1.com:2379", "a/b"},
		{"full://a/sp%20ace/ünï", "a:2379", "sp%20ace/%C3%BCn%C3%AF"},
		{"full://a/../.x", "a:2379", "%2E./%2Ex"},
		{"local://", "", "coordkit"},
		{"local://shop/n", "shop", "n"},
	}
	for _, tt := range tests {
		p := newProbe()
		err := p.open(coord.Config{URL: tt.url})
		if !errors.Is(err, errProbe) {
			t.Errorf("%s: %v", tt.url, err)
			continue
		}
		if got := strings.Join(p.got.Hosts, " "); got != tt.hosts || p.got.Namespace != tt.namespace {
			t.Errorf("%s: hosts %q, namespace %q; want %q, %q", tt.url, got, p.got.Namespace, tt.hosts, tt.namespace)
		}
	}
}

// A wrong configuration is refused with an answer that says what would be
// right, and no answer repeats a secret.
func TestWrongConfigurationIsExplained(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty")
	write(t, empty, "\n")
	tests := []struct {
		name string
		c    coord.Config
		want []string
	}{
		{"no URL", coord.Config{}, []string{"URL", "empty", "scheme://"}},
		{"no scheme", coord.Config{URL: "a:2379"}, []string{"no scheme", "scheme://"}},
		{"unknown scheme", coord.Config{URL: "redis://a"}, []string{`"redis"`, "full, local"}},
		{"no host", coord.Config{URL: "full:///ns"}, []string{"no host", "full://host"}},
		{"an empty host", coord.Config{URL: "full://a,,b"}, []string{`host "" of "a,,b"`}},
		{"a host twice", coord.Config{URL: "full://a,a:2379"}, []string{`"a:2379"`, "twice"}},
		{"a malformed host", coord.Config{URL: "full://a b"}, []string{`host "a b"`}},
		{"IPv6 without brackets", coord.Config{URL: "full://::1"}, []string{"[IPv6]"}},
		{"not an IPv6 address", coord.Config{URL: "full://[abc]:1"}, []string{"IPv6"}},
		{"a malformed port", coord.Config{URL: "full://a:http"}, []string{`port "http"`, "1 to 65535"}},
		{"port 0", coord.Config{URL: "full://a:0"}, []string{`port "0"`}},
		{"a port too high", coord.Config{URL: "full://a:65536"}, []string{`port "65536"`}},
		{"hosts for a local store", coord.Config{URL: "local://a,b"}, []string{`"a,b"`, "one name"}},
		{"a fragment", coord.Config{URL: "full://a/n#x"}, []string{"fragment"}},
		{"an empty segment", coord.Config{URL: "full://a/x//y"}, []string{"empty segment"}},
		{"white space behind the namespace", coord.Config{URL: "full://a/app "}, []string{`"app "`, "white space"}},
		{"a line break in the namespace", coord.Config{URL: "full://a", Namespace: "app\n"}, []string{`"app\n"`, "white space"}},
		{"a control character in the namespace", coord.Config{URL: "full://a", Namespace: "a\tb/c"}, []string{`"a\tb"`, "control character"}},
		{"white space in a local store's name", coord.Config{URL: "local://s /app"}, []string{"white space", "local://name"}},
		{"a long namespace", coord.Config{URL: "full://a", Namespace: strings.Repeat("n", 256)}, []string{"256 bytes", "at most 255"}},
		{"unknown parameter", coord.Config{URL: "full://a?ttl=1s"}, []string{`"ttl"`, "session_ttl", "tls_ca", "dial_timeout", "dc"}},
		{"parameter of another store", coord.Config{URL: "local://?tls_ca=x"}, []string{`"tls_ca"`, "local takes session_ttl, require"}},
		{"parameter twice", coord.Config{URL: "full://a?dc=x&dc=y"}, []string{"dc", "2 times"}},
		{"malformed query", coord.Config{URL: "full://a?x=%zz"}, []string{"query"}},
		{"malformed parameter", coord.Config{URL: "full://a?dial_timeout=soon"}, []string{"dial_timeout", `"soon"`}},
		{"malformed duration", coord.Config{URL: "full://a?session_ttl=15"}, []string{"session_ttl", `"15"`, "unit"}},
		{"TTL too short", coord.Config{URL: "full://a?session_ttl=1s"}, []string{"session_ttl 1s", "2s to 1h0m0s"}},
		{"TTL too long", coord.Config{URL: "full://a", SessionTTL: coord.Duration(2 * time.Hour)}, []string{"2h0m0s", "2s to 1h0m0s"}},
		{"negative TTL", coord.Config{URL: "local://", SessionTTL: -1}, []string{"at least 1ms"}},
		{"unknown capability", coord.Config{URL: "full://a?require=magic"}, []string{`"magic"`, "shared"}},
		{"TLS for a store without", coord.Config{URL: "local://", TLS: true}, []string{"tls is set", "local does not"}},
		{"malformed TLS switch", coord.Config{URL: "full://a?tls=maybe"}, []string{`"maybe"`, "true or false"}},
		{"missing CA file", coord.Config{URL: "full://a", TLSCA: "/no/ca.pem"}, []string{"tls_ca", "/no/ca.pem"}},
		{"CA file without certificates", coord.Config{URL: "full://a", TLSCA: empty}, []string{"tls_ca", "no PEM certificate", empty}},
		{"certificate without key", coord.Config{URL: "full://a", TLSCert: "c.pem"}, []string{"tls_cert and tls_key"}},
		{"missing key files", coord.Config{URL: "full://a", TLSCert: "/no/c", TLSKey: "/no/k"}, []string{"tls_cert", "/no/c"}},
		{"password without user", coord.Config{URL: "full://a", PasswordEnv: "PROBE_SECRET"}, []string{"no username"}},
		{"two passwords", coord.Config{URL: "full://u@a", PasswordEnv: "X", PasswordFile: "y"}, []string{"password_file and password_env"}},
		{"empty password file", coord.Config{URL: "full://u@a", PasswordFile: empty}, []string{"password", empty, "is empty"}},
		{"unset password variable", coord.Config{URL: "full://u@a", PasswordEnv: "NO_SUCH_VARIABLE"}, []string{"NO_SUCH_VARIABLE", "is empty"}},
		{"password in the URL", coord.Config{URL: "full://u:hunter2@a"}, []string{"password_file"}},
		{"password in pieces", coord.Config{URL: "full://u:hun/ter2@a"}, []string{"percent-encoded"}},
		{"password in many pieces", coord.Config{URL: "full://u:1234/hunter2//d@a/"}, []string{"percent-encoded"}},
		{"username without password", coord.Config{URL: "full://u@a"}, []string{"no password", "password_file"}},
		{"TTL zero in the URL", coord.Config{URL: "full://a?session_ttl=0s"}, []string{"session_ttl", `"0s"`, "positive"}},
		{"password with a question mark", coord.Config{URL: "full://u:2024?hunter2@a/"}, []string{"an @", "session_ttl"}},
		{"password of two parameters", coord.Config{URL: "full://u:2024?hun&ter2@a/"}, []string{"an @", "session_ttl"}},
		{"password for a local store", coord.Config{URL: "local://u:hunter2?x@a"}, []string{"local takes one name"}},
		{"two passwords in the URL", coord.Config{URL: "full://u@a?password_env=X&password_file=y"}, []string{"password_file and password_env"}},
		{"TLS off in the URL alone", coord.Config{URL: "full://a?tls=false", TLSServerName: "db"}, []string{"tls is false", "tls_server_name"}},
		{"password with a colon", coord.Config{URL: "full://u:hunter2:@a:x"}, []string{"password"}},
	}
	t.Setenv("PROBE_SECRET", "hunter2")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := newProbe().open(tt.c)
			if !errors.Is(err, coord.ErrInvalid) {
				t.Fatalf("error %v; want ErrInvalid", err)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
			if strings.Contains(err.Error(), "hun") || strings.Contains(err.Error(), "ter2") {
				t.Errorf("%q shows a secret", err)
			}
		})
	}
}

func TestCredentialsReachTheDriverAndNoLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	write(t, file, "hunter2\r\n")
	t.Setenv("PROBE_TOKEN", "s3cret")
	p := newProbe()
	if err := p.open(coord.Config{URL: "full://j%40x@a?password_file=" + file, TokenEnv: "PROBE_TOKEN"}); !errors.Is(err, errProbe) {
		t.Fatal(err)
	}
	if p.got.Username != "j@x" || string(p.got.Password) != "hunter2" || string(p.got.Token) != "s3cret" {
		t.Errorf("the driver got %q, %q, %q", p.got.Username, string(p.got.Password), string(p.got.Token))
	}
	text, err := json.Marshal(p.got.Password)
	if err != nil || strings.Contains(p.got.Password.String()+p.got.Password.GoString()+string(text), "hunter") {
		t.Errorf("the password shows itself: %s %#v %s", p.got.Password, p.got.Password, text)
	}
}

// Who runs a program says in the URL where a secret is, wherever the program would look.
func TestPlaceOfASecretInTheURLGoesFirst(t *testing.T) {
	file := filepath.Join(t.TempDir(), "password")
	write(t, file, "hunter2\n")
	t.Setenv("PROBE_TOKEN", "s3cret")
	p := newProbe()
	err := p.open(coord.Config{URL: "full://u@a?token_env=PROBE_TOKEN&password_file=" + file, PasswordEnv: "NO_SUCH_VARIABLE", TokenFile: "/no/token"})
	if !errors.Is(err, errProbe) {
		t.Fatal(err)
	}
	if string(p.got.Password) != "hunter2" || string(p.got.Token) != "s3cret" {
		t.Errorf("the driver got %q, %q", string(p.got.Password), string(p.got.Token))
	}
}

func TestSettingsOfURLAndDriverAreSplit(t *testing.T) {
	p := newProbe()
	err := p.open(coord.Config{URL: "full://a?session_ttl=3s&dc=west&dial_timeout=1s&tls=true&tls_server_name=db", SessionTTL: coord.Duration(3 * time.Second)})
	if !errors.Is(err, errProbe) {
		t.Fatal(err)
	}
	if len(p.got.Params) != 2 || p.got.Params["dc"] != "west" || p.got.Params["dial_timeout"] != "1s" {
		t.Errorf("the driver got %v", p.got.Params)
	}
	if p.got.TLS == nil || p.got.TLS.ServerName != "db" {
		t.Errorf("the driver got TLS %v", p.got.TLS)
	}
}

// What the URL says goes before what the program has set.
func TestURLGoesBeforeTheRest(t *testing.T) {
	t.Setenv("PROBE_SECRET", "hunter2")
	p := newProbe()
	err := p.open(coord.Config{URL: "full://u@a/x?session_ttl=3s&tls_server_name=db&password_env=PROBE_SECRET", Namespace: "y", Username: "v",
		SessionTTL: coord.Duration(100 * time.Hour), TLSServerName: "other"})
	if !errors.Is(err, errProbe) || p.got.Namespace != "x" || p.got.Username != "u" || p.got.TLS.ServerName != "db" {
		t.Errorf("%v; the driver got %+v", err, p.got)
	}
}

// What the program requires the URL cannot waive.
func TestURLRequiresMore(t *testing.T) {
	for query, want := range map[string][]string{"require=": {"shared"}, "require=durable": {"shared", "durable"}} {
		c, err := coord.Config{URL: "mem://shop?" + query, Require: coord.CapShared}.Open(t.Context())
		if !errors.Is(err, coord.ErrUnsupported) {
			t.Fatalf("%s: %v, %v; want an error that Is ErrUnsupported", query, c, err)
		}
		for _, name := range want {
			if !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v; want %s in it", query, err, name)
			}
		}
	}
}

func TestConfigIsReadFromJSONAndYAMLAndTheEnvironment(t *testing.T) {
	want := coord.Config{
		URL: "full://a", Namespace: "x/y", SessionTTL: coord.Duration(90 * time.Second),
		Require: driver.CapShared | driver.CapDurable, TLS: true, TLSCA: "ca.pem", Username: "u", PasswordEnv: "P",
		Owner: coord.Owner{Name: "billing"},
	}
	check := func(from string, got coord.Config, err error) {
		t.Helper()
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(want)
		if err != nil || string(a) != string(b) {
			t.Errorf("%s: %s, %v; want %s", from, a, err, b)
		}
	}
	var c coord.Config
	err := json.Unmarshal([]byte(`{"url":"full://a","namespace":"x/y","session_ttl":"1m30s","require":"shared, durable",
		"tls":true,"tls_ca":"ca.pem","username":"u","password_env":"P","owner":{"name":"billing"}}`), &c)
	check("JSON", c, err)

	c = coord.Config{}
	err = yaml.Unmarshal([]byte("url: full://a\nnamespace: x/y\nsession_ttl: 90s\nrequire: shared,durable\ntls: true\n"+
		"tls_ca: ca.pem\nusername: u\npassword_env: P\nowner:\n  name: billing\n"), &c)
	check("YAML", c, err)

	out, err := yaml.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	c = coord.Config{}
	err = yaml.Unmarshal(out, &c)
	check("YAML and back", c, err)

	for name, value := range map[string]string{
		"URL": "full://a", "NAMESPACE": "x/y", "SESSION_TTL": "90s", "REQUIRE": "durable,shared", "TLS": "true",
		"TLS_CA": "ca.pem", "USERNAME": "u", "PASSWORD_ENV": "P", "OWNER_NAME": "billing",
	} {
		t.Setenv("APP_"+name, value)
	}
	c, err = coord.FromEnv("APP_")
	check("the environment", c, err)

	t.Setenv("APP_SESSION_TTL", "soon")
	if _, err = coord.FromEnv("APP_"); !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), "APP_SESSION_TTL") {
		t.Errorf("a malformed variable: %v", err)
	}
	if err := json.Unmarshal([]byte(`{"session_ttl":"15"}`), &c); err == nil || !strings.Contains(err.Error(), "unit") {
		t.Errorf("a malformed duration in JSON: %v", err)
	}
}

func FuzzURL(f *testing.F) {
	for _, s := range []string{"", "full://a:1,[::1]:2/ns?session_ttl=3s", "full://u:SECRET@h/x", "full://u:SE/CRET@h", "local://x", "full://a#b", "full://%", "://"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, url string) {
		p := newProbe()
		err := p.open(coord.Config{URL: url})
		if !errors.Is(err, errProbe) {
			if !errors.Is(err, coord.ErrInvalid) {
				t.Errorf("%q: error %v is not ErrInvalid", url, err)
			}
			if strings.HasPrefix(url, "full://u:") && strings.Contains(err.Error(), "SECRET") {
				t.Errorf("%q: the error shows it: %v", url, err)
			}
			return
		}
		if len(p.got.Hosts) == 0 || p.got.Namespace == "" {
			t.Errorf("%q opens %v, %q", url, p.got.Hosts, p.got.Namespace)
		}
		for segment := range strings.SplitSeq(p.got.Namespace, "/") {
			if !driver.ValidDir(segment) || strings.Contains(segment, ":") {
				t.Errorf("%q: segment %q of the namespace is not one that drivers know", url, segment)
			}
		}
	})
}

func write(t *testing.T, file, content string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
