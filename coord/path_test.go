package coord_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
)

// Where the path of a URL names a file or a database, the namespace is a parameter.
func TestPathOfAURL(t *testing.T) {
	p := &probe{}
	open := func(_ context.Context, t driver.Target) (driver.Conn, error) {
		p.got = t
		return nil, errProbe
	}
	p.Register("file", driver.Opener{Open: open, Local: true, Path: true})
	for _, tt := range []struct{ url, field, path, namespace string }{
		{"file:///tmp/a%20b.db", "", "/tmp/a b.db", "coordkit"},
		{"file:///a.db?namespace=my/app", "", "/a.db", "my/app"},
		{"file:///a.db", "field", "/a.db", "field"},
		{"file:///a.db?namespace=url", "field", "/a.db", "url"},
		{"file://a.db", "", "", "coordkit"},
	} {
		err := p.open(coord.Config{URL: tt.url, Namespace: tt.field})
		if !errors.Is(err, errProbe) || p.got.Path != tt.path || p.got.Namespace != tt.namespace {
			t.Errorf("%s: path %q, namespace %q, %v; want %q, %q", tt.url, p.got.Path, p.got.Namespace, err, tt.path, tt.namespace)
		}
	}
	for url, want := range map[string]string{
		"file:///a.db?namespace=a&namespace=b": "given 2 times",
		"file:///a.db?namespase=a":             "file takes namespace, session_ttl",
	} {
		if err := p.open(coord.Config{URL: url}); !errors.Is(err, coord.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want one with %q", url, err, want)
		}
	}
	if err := newProbe().open(coord.Config{URL: "full://a/x?namespace=y"}); !errors.Is(err, coord.ErrInvalid) {
		t.Errorf("a namespace beside the one in the path: %v", err)
	}
}
