package conformance

import (
	"context"
	"errors"

	"github.com/coordkit/coordkit/coord/driver"
)

// source is a call that lists.
type source struct {
	call string
	list func() []driver.Node // the directory
}

// plainSources are those of a session and its connection, and its watch.
func (t *Trial) plainSources(c driver.Conn, s driver.Session) []source {
	all := []source{
		{"Session.List", func() []driver.Node { return t.list(s, dir) }},
		{"Conn.List", func() []driver.Node { return t.observed(c) }},
	}
	if f, ok := driver.As[driver.Watcher](c); ok {
		all = append(all, source{"Watch", func() []driver.Node {
			ctx, cancel := context.WithTimeout(t.ctx, t.patience())
			defer cancel()
			for nodes, err := range f.Watch(ctx, dir) {
				if err == nil {
					return nodes
				}
			}
			t.NotVerified("a watch did not show the directory, which V1 is about")
			return nil
		}})
	}
	return all
}

// sources are these and the optional calls of the session.
func (t *Trial) sources(c driver.Conn, s driver.Session) []source {
	all := t.plainSources(c, s)
	for _, v := range []variant{byCreateList, byNames} {
		if v.offered(s) {
			all = append(all, source{"the list of " + v.call, func() (nodes []driver.Node) {
				if !t.comes(t.patience(), func() (err error) {
					nodes, err = v.list(t.ctx, t, s, dir)
					return err
				}) {
					t.NotVerified("%s fails, which its rule is about", v.call)
				}
				return nodes
			}})
		}
	}
	return all
}

// asListed is a node as a call lists it.
func (t *Trial) asListed(by source, n driver.Node) (listed driver.Node) {
	if !t.comes(t.patience(), func() error {
		var ok bool
		if listed, ok = find(by.list(), n); !ok {
			return errors.New("not listed")
		}
		return nil
	}) {
		t.NotVerified("%s is not in %s, which other rules are about", show(n), by.call)
	}
	return listed
}
