package coord

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.uber.org/zap"

	"github.com/coordkit/coordkit/coord/driver"
)

// resolve checks the configuration against the driver's opener. It returns c
// with what the URL says merged in, and the target to open. No error holds a
// secret, and none repeats a URL that could.
func (c Config) resolve() (Config, driver.Opener, driver.Target, error) {
	fail := func(err error) (Config, driver.Opener, driver.Target, error) {
		return Config{}, driver.Opener{}, driver.Target{}, err
	}
	mux := c.Mux
	if mux == nil {
		mux = &driver.DefaultMux
	}
	a, err := parse(c.URL)
	if err != nil {
		return fail(err)
	}
	opener, err := mux.Lookup(a.scheme)
	if err != nil {
		return fail(err)
	}
	t := driver.Target{Scheme: a.scheme, Logger: c.Logger}
	if t.Logger == nil {
		t.Logger = zap.NewNop()
	}
	if t.Hosts, err = a.targets(opener); err != nil {
		return fail(err)
	}
	inURL := a.path
	if opener.Path {
		t.Path = a.path
		if inURL, err = a.namespace(); err != nil {
			return fail(err)
		}
	}
	if t.Namespace, err = c.namespace(inURL); err != nil {
		return fail(err)
	}
	if a.user != "" {
		a.query.Add("username", a.user)
	}
	if t.Params, err = c.parameters(a.query, a.scheme, opener); err != nil {
		return fail(err)
	}
	if err := c.useless(a.scheme, opener); err != nil {
		return fail(err)
	}
	if c.SessionTTL == 0 {
		c.SessionTTL = Duration(DefaultSessionTTL)
	}
	if err := checkTTL(time.Duration(c.SessionTTL), opener); err != nil {
		return fail(err)
	}
	if t.TLS, err = c.tlsConfig(t.Logger); err != nil {
		return fail(err)
	}
	t.Username = c.Username
	if t.Password, err = secret("password", c.PasswordFile, c.PasswordEnv); err != nil {
		return fail(err)
	}
	if t.Password != "" && t.Username == "" {
		return fail(fmt.Errorf("%w configuration: a password is given and no username", ErrInvalid))
	}
	if t.Username != "" && t.Password == "" {
		return fail(fmt.Errorf("%w configuration: a username is given and no password: set password_file or password_env", ErrInvalid))
	}
	if t.Token, err = secret("token", c.TokenFile, c.TokenEnv); err != nil {
		return fail(err)
	}
	return c, opener, t, nil
}

// address is a URL in parts. Package net/url reads the path and the query; it
// knows only one host, so the rest is split here.
type address struct {
	scheme, user, hosts, path string
	query                     url.Values

	// guarded: there is an @ somewhere, so what looks like a host may be a
	// piece of a password that nobody encoded, and must not be repeated.
	guarded bool
}

const form = "scheme://[user@]host[:port][,host[:port]…]/[namespace][?parameter=value&…]"

// parse splits the URL. No error repeats more of it than cannot be a secret:
// net/url's own would show a password that does not belong there.
func parse(raw string) (address, error) {
	var a address
	if raw == "" {
		return a, fmt.Errorf("%w URL: it is empty; want %s", ErrInvalid, form)
	}
	scheme, rest, ok := strings.Cut(raw, "://")
	if !ok || strings.ContainsAny(scheme, ":/?#@") {
		return a, fmt.Errorf("%w URL: no scheme; want %s", ErrInvalid, form)
	}
	authority := rest
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		authority = rest[:i]
	}
	tail := rest[len(authority):]
	a.guarded = strings.Contains(raw, "@")
	a.scheme, a.hosts = strings.ToLower(scheme), authority
	if i := strings.LastIndexByte(authority, '@'); i >= 0 {
		user, err := url.PathUnescape(authority[:i])
		if err != nil || strings.Contains(authority[:i], ":") {
			return a, fmt.Errorf("%w URL: what stands before @ must be a username, percent-encoded; a password there "+
				"would show in logs and process lists: use password_file or password_env", ErrInvalid)
		}
		a.user, a.hosts = user, authority[i+1:]
	}
	if path, _, _ := strings.Cut(tail, "?"); strings.Contains(path, "@") {
		return a, fmt.Errorf("%w URL: there is an @ behind the hosts; want %s, percent-encoded, and no password", ErrInvalid, form)
	}
	if strings.Contains(tail, "#") {
		return a, fmt.Errorf("%w URL: it has a fragment (#…); want %s", ErrInvalid, form)
	}
	u, err := url.Parse("x://x" + tail)
	if err != nil {
		return a, fmt.Errorf("%w URL: its path is malformed; want %s, percent-encoded", ErrInvalid, form)
	}
	a.path = u.Path
	if a.query, err = url.ParseQuery(u.RawQuery); err != nil {
		return a, fmt.Errorf("%w URL: its query is malformed; want parameter=value&…, percent-encoded", ErrInvalid)
	}
	return a, nil
}

// targets splits the list of hosts and completes each with the default port.
func (a address) targets(o driver.Opener) ([]string, error) {
	if o.Local {
		if strings.ContainsFunc(a.hosts, unicode.IsSpace) || strings.ContainsFunc(a.hosts, unicode.IsControl) {
			return nil, fmt.Errorf("%w URL: the name of the store has white space, or a control character, in it; want %s://name/namespace", ErrInvalid, a.scheme)
		}
		if strings.ContainsAny(a.hosts, ",:[]") {
			if a.guarded {
				return nil, fmt.Errorf("%w URL: the host is malformed; %s takes one name without a port", ErrInvalid, a.scheme)
			}
			return nil, fmt.Errorf("%w URL: host %q: %s takes one name without a port", ErrInvalid, a.hosts, a.scheme)
		}
		return []string{a.hosts}, nil
	}
	if a.hosts == "" {
		return nil, fmt.Errorf("%w URL: no host; want %s://host[:port][,host[:port]…]/namespace", ErrInvalid, a.scheme)
	}
	var list []string
	for h := range strings.SplitSeq(a.hosts, ",") {
		full, err := hostPort(h, o.DefaultPort)
		if err != nil && a.guarded {
			return nil, fmt.Errorf("%w URL: a host is malformed; want %s", ErrInvalid, form)
		}
		if err != nil {
			return nil, fmt.Errorf("%w URL: host %q of %q: %w", ErrInvalid, h, a.hosts, err)
		}
		if slices.Contains(list, full) {
			return nil, fmt.Errorf("%w URL: host %q is given twice", ErrInvalid, full)
		}
		list = append(list, full)
	}
	return list, nil
}

func hostPort(h, defaultPort string) (string, error) {
	host, port := h, defaultPort
	if i := strings.LastIndexByte(h, ':'); i >= 0 && !strings.HasSuffix(h, "]") {
		host, port = h[:i], h[i+1:]
	}
	if ip, ok := strings.CutPrefix(host, "["); ok {
		ip, ok = strings.CutSuffix(ip, "]")
		if before, zone, encoded := strings.Cut(ip, "%25"); encoded && zone != "" { // RFC 6874
			ip = before + "%" + zone
		}
		if _, err := netip.ParseAddr(ip); !ok || err != nil || !strings.Contains(ip, ":") {
			return "", errors.New("want an IPv6 address in the brackets")
		}
		host = ip
	} else if host == "" || strings.Trim(host, hostBytes) != "" {
		return "", errors.New("want host, host:port or [IPv6]:port")
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", fmt.Errorf("port %q: want a number from 1 to 65535", port)
	}
	return net.JoinHostPort(host, port), nil
}

// hostBytes are what DNS names (underscores included, as many have them) and
// IPv4 addresses are written with.
const hostBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_"

// namespace takes the namespace out of the query of a URL whose path names something else.
func (a address) namespace() (string, error) {
	values := a.query[paramNamespace]
	a.query.Del(paramNamespace)
	if len(values) > 1 {
		return "", fmt.Errorf("%w URL: parameter %s is given %d times", ErrInvalid, paramNamespace, len(values))
	}
	return strings.Join(values, ""), nil
}

func (c Config) namespace(inURL string) (string, error) {
	if strings.Trim(inURL, "/") != "" {
		return namespaceDir(inURL)
	}
	return namespaceDir(c.Namespace)
}
