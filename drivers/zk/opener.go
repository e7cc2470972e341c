package zk

import (
	"context"
	"fmt"
	"net"
	"strings"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
)

// paramACL is the parameter that says who may see and change what the driver
// makes.
const (
	paramACL   = "acl"
	aclOpen    = "open"
	aclCreator = "creator"
)

func init() {
	driver.Register(store, driver.Opener{
		Open:        open,
		DefaultPort: "2181",
		TLS:         true,
		Password:    true,
		MinTTL:      minTTL,
		MaxTTL:      maxTTL,
		Params: []driver.Param{{
			Name:  paramACL,
			Doc:   `who may see and change the nodes: "creator", who has the same username and password, or "open", everybody (default: creator with a username, open without)`,
			Check: checkACL,
		}},
	})
}

func checkACL(s string) error {
	if s != aclOpen && s != aclCreator {
		return fmt.Errorf("%q is neither %q nor %q", s, aclOpen, aclCreator)
	}
	return nil
}

// open makes a connection, which connects to nothing until it is needed.
func open(ctx context.Context, t driver.Target) (driver.Conn, error) {
	o := op{name: "open", key: t.Namespace}
	if ctx.Err() != nil {
		return nil, unsent(o, ctx)
	}
	acl, err := aclFor(o, t)
	if err != nil {
		return nil, err
	}
	if first, _, _ := strings.Cut(t.Namespace, "/"); first == "zookeeper" {
		return nil, invalid(o, "namespace %q: /zookeeper is ZooKeeper's own", t.Namespace)
	}
	if len(t.Hosts) == 0 {
		return nil, invalid(o, "no hosts")
	}
	p := peers{hosts: t.Hosts, tls: t.TLS, dial: dialTCP}
	if t.Username != "" {
		if strings.Contains(t.Username, ":") {
			return nil, invalid(o, "username %q: a colon ends the name in ZooKeeper's digest scheme", t.Username)
		}
		p.digest = []byte(t.Username + ":" + string(t.Password))
	}
	return newConn(space("/"+t.Namespace), p, acl, t.Logger), nil
}

// dialTCP resolves the host, each time anew, and tries its addresses.
func dialTCP(ctx context.Context, host string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", host)
}

func aclFor(o op, t driver.Target) ([]gozk.ACL, error) {
	who, given := t.Params[paramACL]
	if given {
		if err := checkACL(who); err != nil {
			return nil, invalid(o, "parameter %s: %w", paramACL, err)
		}
	}
	switch {
	case who == aclCreator && t.Username == "":
		return nil, invalid(o, "parameter %s: %q needs a username", paramACL, aclCreator)
	case who == aclOpen, t.Username == "":
		return gozk.WorldACL(gozk.PermAll), nil
	default:
		return gozk.AuthACL(gozk.PermAll), nil
	}
}
