package etcd

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"golang.org/x/net/http2"
	"google.golang.org/grpc"

	"github.com/coordkit/coordkit/drivers/etcd/internal/h2"
	"github.com/coordkit/coordkit/drivers/internal/secure"
)

// followerFor is how long a connection serves that is to a member which does not lead,
// because none that leads could be reached.
const followerFor = 30 * time.Second

// channel is a connection of a pool.
type channel struct {
	*h2.Conn
	pool   *pool
	host   int       // of the pool's
	stream bool      // it is for a stream
	token  string    // that its requests bring; "": none
	term   uint64    // when it was made
	until  time.Time // it serves until then; zero: for as long as it likes
}

// dial connects to one of the hosts, and logs in where there is a password. A timeout of 0
// is the pool's.
func (p *pool) dial(ctx context.Context, host int, stream bool, timeout time.Duration) (*channel, error) {
	if err := p.login.barred(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(timeout, p.timeout))
	defer cancel()
	c, err := p.open(ctx, host, stream)
	if err != nil {
		return nil, err
	}
	if err := p.login.in(ctx, c); err != nil {
		_ = c.Close() // may be closed already
		return nil, err
	}
	return c, nil
}

func (p *pool) open(ctx context.Context, host int, stream bool) (*channel, error) {
	socket, err := new(net.Dialer).DialContext(ctx, "tcp", p.hosts[host])
	if err == nil && p.tls != nil {
		socket, err = secured(ctx, socket, p.hosts[host], p.tls)
	}
	if err != nil {
		return nil, err
	}
	var fields []h2.Field
	if stream || len(p.hosts) > 1 {
		// A member that is cut off from the others is to say so at once: see conn.ask.
		fields = []h2.Field{{Name: rpctypes.MetadataRequireLeaderKey, Value: rpctypes.MetadataHasLeader}}
	}
	c := &channel{Conn: h2.New(socket, p.hosts[host], fields...), pool: p, host: host, stream: stream}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = socket.Close() // unused
		return nil, net.ErrClosed
	}
	p.opened[c] = struct{}{}
	if !stream {
		p.calling++
	}
	return c, nil
}

// secured begins TLS, and HTTP/2 in it, and nothing else.
func secured(ctx context.Context, socket net.Conn, host string, config *tls.Config) (net.Conn, error) {
	conn, err := secure.Client(ctx, socket, host, config)
	if err != nil {
		return nil, err
	}
	if conn.ConnectionState().NegotiatedProtocol != http2.NextProtoTLS {
		_ = socket.Close() // unused
		return nil, fmt.Errorf("%s does not offer HTTP/2", host)
	}
	return conn, nil
}

// Close implements idle.Conn.
func (c *channel) Close() error {
	c.pool.mu.Lock()
	if _, open := c.pool.opened[c]; open {
		delete(c.pool.opened, c)
		if !c.stream {
			c.pool.calling--
		}
	}
	c.pool.mu.Unlock()
	return c.Conn.Close()
}

// reach makes a connection to the leader, or to another member if none that leads can be
// reached.
func (p *pool) reach() (*channel, error) {
	p.mu.Lock()
	first := p.first
	p.mu.Unlock()
	var second *channel
	var failures []error
	for i := range p.hosts {
		c, leads, err := p.meet((first + i) % len(p.hosts))
		switch {
		case err != nil:
			failures = append(failures, err)
		case leads || len(p.hosts) == 1:
			p.prefer(c.host)
			if second != nil {
				_ = second.Close() // may be closed already
			}
			return c, nil
		case second == nil:
			second = c
			second.until = time.Now().Add(followerFor)
		default:
			_ = c.Close() // may be closed already
		}
	}
	if second == nil {
		return nil, errors.Join(failures...)
	}
	return second, nil
}

// meet makes a connection to a host, and tells whether that leads. A token that is too old
// is found out by that, and the next one tried.
func (p *pool) meet(host int) (c *channel, leads bool, err error) {
	for range 2 {
		c, err = p.dial(p.ctx, host, false, 0)
		if err != nil {
			return nil, false, err
		}
		leads, err = c.leads()
		if err == nil {
			return c, leads, nil
		}
		_ = c.Close() // may be closed already
		if !isAny(err, staleTokens) {
			break
		}
		p.login.forget(c.token)
	}
	return nil, false, fmt.Errorf("%s: %w", p.hosts[host], err)
}

// leads asks the member at the other end whether it leads. One that knows of no leader,
// or does not vote, is of no use. That it answers also says that there is a server, and not
// somebody in front of it who accepts connections for it; and what HTTP/2 begins with has
// been read then.
func (c *channel) leads() (bool, error) {
	ctx, cancel := context.WithTimeout(c.pool.ctx, c.pool.timeout)
	defer cancel()
	resp := new(pb.StatusResponse)
	if err := c.Call(ctx, pb.Maintenance_Status_FullMethodName, &pb.StatusRequest{}, resp); err != nil {
		return false, err
	}
	c.pool.saw(resp.Header)
	c.term = resp.Header.GetRaftTerm()
	switch {
	case resp.Leader == 0:
		return false, errors.New("the member knows of no leader")
	case resp.IsLearner:
		return false, errors.New("the member is a learner")
	}
	return resp.Leader == resp.Header.GetMemberId(), nil
}

// prefer takes note of which host is to be asked first.
func (p *pool) prefer(host int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.first = host
}

// turn takes note that a host is not to be asked first.
func (p *pool) turn(host int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == host {
		p.first = (host + 1) % len(p.hosts)
	}
}

// streams opens streams, each on a connection of its own, and all else by gRPC.
type streams struct {
	grpc.ClientConnInterface
	pool *pool
}

// NewStream connects to another host each time, so that who has lost one tries the next,
// and the watches of many programs are shared by all members. If none can be reached that
// way, gRPC may have a connection still, or know another way: it heeds HTTPS_PROXY. If to
// find that out took long, streams go by gRPC for a while.
func (s streams) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	p := s.pool
	if began := time.Now(); p.barred.Load() < began.UnixNano() {
		first := int(p.streamed.Add(1) % uint32(len(p.hosts)))
		for i := range p.hosts {
			c, err := p.dial(ctx, (first+i)%len(p.hosts), true, streamDial/time.Duration(len(p.hosts)))
			if err == nil {
				return c.openStream(ctx, method)
			}
		}
		if ctx.Err() != nil || time.Since(began) > streamDial/2 {
			p.barred.Store(time.Now().Add(barredFor).UnixNano())
		}
	}
	return s.ClientConnInterface.NewStream(ctx, desc, method, opts...)
}

// How long it may take to try all hosts for a stream, which is less than feeds wait for an
// answer, and for how long streams go by gRPC when it has taken long.
const (
	streamDial = 1500 * time.Millisecond
	barredFor  = 30 * time.Second
)

// openStream opens a stream, to which the connection belongs.
func (c *channel) openStream(ctx context.Context, method string) (grpc.ClientStream, error) {
	s, err := c.Open(ctx, method)
	if err != nil {
		_ = c.Close() // may be closed already
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = c.Close() }) // may be closed already
	return s, nil
}
