package main

import (
	"context"
	"errors"
	"io"
	"net"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// link is a client's way to its store.
type link interface {
	Cut()        // pulls the plug: connections break and new ones are refused
	Heal() error // puts it back
}

type openFunc func(context.Context, driver.Target) (driver.Conn, error)

// openBreakable opens a client with a link that can be cut. It works for every
// store, because the client is given drivers that connect through the link.
func openBreakable(ctx context.Context, config coord.Config) (client *coord.Client, l link, err error) {
	config.Mux = new(driver.Mux)
	for _, scheme := range driver.DefaultMux.Schemes() {
		opener, _ := driver.DefaultMux.Lookup(scheme) // it is there: it was listed
		open := opener.Open
		opener.Open = func(ctx context.Context, target driver.Target) (conn driver.Conn, err error) {
			conn, l, err = connect(ctx, open, target)
			return conn, err
		}
		config.Mux.Register(scheme, opener)
	}
	client, err = config.Open(ctx)
	return client, l, err
}

func connect(ctx context.Context, open openFunc, target driver.Target) (driver.Conn, link, error) {
	switch target.Scheme { // these have no network
	case "mem":
		conn, err := open(ctx, target)
		if err != nil {
			return nil, nil, err
		}
		return conn, conn.(*mem.Conn).Link(), nil
	case "sqlite":
		return connectFile(ctx, target)
	}
	proxies, err := netfault.NewGroup(target.Hosts...)
	if err != nil {
		return nil, nil, err
	}
	if target.TLS != nil && target.TLS.ServerName == "" {
		// The certificate is for the host and not for the proxy.
		target.TLS = target.TLS.Clone()
		target.TLS.ServerName, _, _ = net.SplitHostPort(target.Hosts[0])
	}
	target.Hosts = proxies.Addrs()
	conn, err := open(ctx, target)
	if err != nil {
		return nil, nil, errors.Join(err, proxies.Close())
	}
	return opened{conn, proxies}, proxies, nil
}

// opened is a connection that takes its way to the store with it when it is closed.
type opened struct {
	driver.Conn
	way io.Closer
}

// Unwrap lets package driver find what else the connection can do.
func (o opened) Unwrap() any { return o.Conn }

// Close closes the connection first, which has something to say to the store.
func (o opened) Close() error { return errors.Join(o.Conn.Close(), o.way.Close()) }
