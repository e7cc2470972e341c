package delay

import (
	"context"
	"io"
	"net"
	"time"
)

// echoes is how many Echo measures.
const echoes = 1000

// Echo measures how precise the delay is. It returns how long each of 1,000 echoes of
// one byte took through a proxy in a process of its own.
func Echo(ctx context.Context, rtt time.Duration) ([]time.Duration, error) {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer server.Close()
	go func() {
		if c, err := server.Accept(); err == nil {
			defer c.Close()
			_, _ = io.Copy(c, c) // until the client is gone
		}
	}()
	proxies, err := Start(ctx, rtt, []string{server.Addr().String()})
	if err != nil {
		return nil, err
	}
	defer proxies.Close()
	client, err := net.Dial("tcp", proxies.Addrs[0])
	if err != nil {
		return nil, err
	}
	defer client.Close()
	var took []time.Duration
	for len(took) <= echoes {
		sent := time.Now()
		if _, err := client.Write([]byte{1}); err != nil {
			return nil, err
		}
		if _, err := io.ReadFull(client, make([]byte, 1)); err != nil {
			return nil, err
		}
		took = append(took, time.Since(sent))
	}
	return took[1:], nil // the first one connects as well
}
