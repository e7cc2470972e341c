package main

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
)

// The store is dialed through proxies, and its certificate is still checked
// for the name that the user gave.
func TestConnectThroughProxies(t *testing.T) {
	stop := errors.New("enough seen")
	for _, c := range []struct {
		name string
		tls  *tls.Config
		want string // server name
	}{
		{"no TLS", nil, ""},
		{"host's name", &tls.Config{}, "db1.example"},
		{"name of its own", &tls.Config{ServerName: "db.example"}, "db.example"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := ""
			if c.tls != nil {
				before = c.tls.ServerName
			}
			hosts := []string{"db1.example:2379", "db2.example:2379"}
			var dialed driver.Target
			_, _, err := connect(t.Context(), func(_ context.Context, target driver.Target) (driver.Conn, error) {
				dialed = target
				return nil, stop
			}, driver.Target{Scheme: "etcd", Hosts: slices.Clone(hosts), TLS: c.tls})
			if !errors.Is(err, stop) {
				t.Errorf("error %v; want the driver's", err)
			}
			if len(dialed.Hosts) != len(hosts) {
				t.Errorf("dialed %v; want a proxy for each of %v", dialed.Hosts, hosts)
			}
			for _, host := range dialed.Hosts {
				if ip, _, err := net.SplitHostPort(host); err != nil || !net.ParseIP(ip).IsLoopback() {
					t.Errorf("dialed %q, %v; want a proxy", host, err)
				}
			}
			got := ""
			if dialed.TLS != nil {
				got = dialed.TLS.ServerName
			}
			if got != c.want || (dialed.TLS == nil) != (c.tls == nil) {
				t.Errorf("server name %q; want %q", got, c.want)
			}
			if c.tls != nil && c.tls.ServerName != before {
				t.Errorf("the caller's TLS settings were changed")
			}
		})
	}
}
