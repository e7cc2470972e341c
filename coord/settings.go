package coord

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/coordkit/coordkit/coord/driver"
)

// setting is a field of Config that a URL and the environment can give as
// text. accepted says which openers have a use for it.
type setting struct {
	name     string
	get      func(*Config) string
	set      func(*Config, string) error
	accepted func(driver.Opener) bool
}

func always(driver.Opener) bool       { return true }
func takesTLS(o driver.Opener) bool   { return o.TLS }
func takesUser(o driver.Opener) bool  { return o.Password }
func takesToken(o driver.Opener) bool { return o.Token }

// settings is the one list of what a URL's query and the environment may hold.
var settings = []setting{
	{"session_ttl", func(c *Config) string {
		if c.SessionTTL == 0 {
			return ""
		}
		return c.SessionTTL.String()
	}, func(c *Config, v string) error {
		if err := c.SessionTTL.UnmarshalText([]byte(v)); err != nil {
			return err
		}
		if c.SessionTTL <= 0 { // the zero that stands for the default is not written
			return fmt.Errorf("%w value %q: want a positive duration", ErrInvalid, v)
		}
		return nil
	}, always},
	{"require", func(c *Config) string { return c.Require.String() },
		func(c *Config, v string) error { // the URL asks for more; what the program insists on stays
			more, err := driver.ParseCaps(v)
			c.Require |= more
			return err
		}, always},
	{"tls", func(c *Config) string {
		if !c.TLS {
			return ""
		}
		return "true"
	}, func(c *Config, v string) (err error) {
		if c.TLS, err = strconv.ParseBool(v); err != nil {
			return fmt.Errorf("%w value %q: want true or false", ErrInvalid, v)
		}
		return nil
	}, takesTLS},
	text("tls_ca", takesTLS, func(c *Config) *string { return &c.TLSCA }),
	text("tls_cert", takesTLS, func(c *Config) *string { return &c.TLSCert }),
	text("tls_key", takesTLS, func(c *Config) *string { return &c.TLSKey }),
	text("tls_server_name", takesTLS, func(c *Config) *string { return &c.TLSServerName }),
	text("username", takesUser, func(c *Config) *string { return &c.Username }),
	text("password_file", takesUser, func(c *Config) *string { return &c.PasswordFile }),
	text("password_env", takesUser, func(c *Config) *string { return &c.PasswordEnv }),
	text("token_file", takesToken, func(c *Config) *string { return &c.TokenFile }),
	text("token_env", takesToken, func(c *Config) *string { return &c.TokenEnv }),
}

func text(name string, accepted func(driver.Opener) bool, field func(*Config) *string) setting {
	return setting{name,
		func(c *Config) string { return *field(c) },
		func(c *Config, v string) error { *field(c) = v; return nil },
		accepted}
}

// parameters puts the URL's query into c and returns what is left for the
// driver.
func (c *Config) parameters(query url.Values, scheme string, o driver.Opener) (map[string]string, error) {
	c.replaced(query)
	own := make(map[string]string)
	for _, name := range slices.Sorted(maps.Keys(query)) {
		if n := len(query[name]); n != 1 {
			return nil, fmt.Errorf("%w URL: parameter %s is given %d times", ErrInvalid, name, n)
		}
		value := query[name][0]
		if i := slices.IndexFunc(settings, func(s setting) bool { return s.name == name && s.accepted(o) }); i >= 0 {
			if err := settings[i].set(c, value); err != nil {
				return nil, fmt.Errorf("parameter %s: %w", name, err)
			}
			continue
		}
		i := slices.IndexFunc(o.Params, func(p driver.Param) bool { return p.Name == name })
		if i < 0 && strings.Contains(fmt.Sprint(query), "@") { // it may be a piece of a password with a question mark
			return nil, fmt.Errorf("%w URL: there is an @ and an unknown parameter behind the hosts; %s takes %s, and no password",
				ErrInvalid, scheme, accepted(o))
		}
		if i < 0 {
			return nil, fmt.Errorf("%w URL: unknown parameter %q; %s takes %s", ErrInvalid, name, scheme, accepted(o))
		}
		if check := o.Params[i].Check; check != nil {
			if err := check(value); err != nil {
				return nil, fmt.Errorf("parameter %s: %w value %q: %w", name, ErrInvalid, value, err)
			}
		}
		own[name] = value
	}
	if query.Has("tls") && !c.TLS && c.asksForTLS() {
		return nil, fmt.Errorf("%w configuration: tls is false in the URL, and tls_ca, tls_cert, tls_key or tls_server_name, "+
			"which turn it on, are given", ErrInvalid)
	}
	return own, nil
}

// replaced clears what the URL names another place for: of two places for a secret the
// URL's counts. Two that it names itself are one too many.
func (c *Config) replaced(query url.Values) {
	for _, place := range []struct {
		inURL string
		other *string
	}{
		{"password_file", &c.PasswordEnv}, {"password_env", &c.PasswordFile},
		{"token_file", &c.TokenEnv}, {"token_env", &c.TokenFile},
	} {
		if query.Has(place.inURL) {
			*place.other = ""
		}
	}
}

// paramNamespace names the namespace in a URL whose path names a file or a database.
const paramNamespace = "namespace"

// accepted lists the parameters that a scheme takes.
func accepted(o driver.Opener) string {
	var names []string
	if o.Path {
		names = append(names, paramNamespace)
	}
	for _, s := range settings {
		if s.accepted(o) {
			names = append(names, s.name)
		}
	}
	for _, p := range o.Params {
		names = append(names, p.Name)
	}
	return strings.Join(names, ", ")
}

// useless refuses settings that the store's driver would not look at: whoever
// asks for TLS or gives a password must not be served without.
func (c *Config) useless(scheme string, o driver.Opener) error {
	for _, s := range settings {
		if !s.accepted(o) && s.get(c) != "" {
			return fmt.Errorf("%w configuration: %s is set, and %s does not take it; it takes %s",
				ErrInvalid, s.name, scheme, accepted(o))
		}
	}
	return nil
}

// FromEnv fills a Config from environment variables: prefix, then the name of the
// setting in capitals, as COORDKIT_URL, COORDKIT_NAMESPACE, COORDKIT_SESSION_TTL or
// COORDKIT_TLS_CA for the prefix "COORDKIT_". The name shown to others is in
// OWNER_NAME. A variable that is unset or empty leaves its field alone. A malformed one
// is an error that Is ErrInvalid. A variable of another name is ignored, even with the
// prefix, for it may belong to another program. So is one that is misspelt: settings
// that safety depends on, such as Require, are best set in the program.
func FromEnv(prefix string) (Config, error) {
	c := Config{
		URL:       os.Getenv(prefix + "URL"),
		Namespace: os.Getenv(prefix + "NAMESPACE"),
		Owner:     Owner{Name: os.Getenv(prefix + "OWNER_NAME")},
	}
	for _, s := range settings {
		name := prefix + strings.ToUpper(s.name)
		if v := os.Getenv(name); v != "" {
			if err := s.set(&c, v); err != nil {
				return Config{}, fmt.Errorf("coordkit: environment variable %s: %w", name, err)
			}
		}
	}
	return c, nil
}
