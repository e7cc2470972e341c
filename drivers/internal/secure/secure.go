// Package secure begins TLS, for drivers that make their connections themselves.
package secure

import (
	"context"
	"crypto/tls"
	"net"
)

// Client shakes hands with the server at the other end of conn, within ctx. The name that
// its certificate is to have is that of config or, if it has none, of host, which is
// "name:port". With an error conn is closed.
func Client(ctx context.Context, conn net.Conn, host string, config *tls.Config) (*tls.Conn, error) {
	if config.ServerName == "" {
		name, _, err := net.SplitHostPort(host)
		if err != nil {
			name = host
		}
		config = config.Clone()
		config.ServerName = name
	}
	client := tls.Client(conn, config)
	if err := client.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return client, nil
}
