package etcd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
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
	term   uint64    // when it was made
	until  time.Time // it serves until then; zero: for as long as it likes
}

// dial connects to one of the hosts, and logs in where there is a password.
func (p *pool) dial(ctx context.Context, host int, stream bool) (*channel, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	c, err := p.connectTo(ctx, host, stream)
	if err != nil || p.username == "" {
		return c, err
	}
	token, err := p.login(ctx, c)
	if err != nil {
		_ = c.Close() // may be closed already
		return nil, err
	}
	c.Add(h2.Field{Name: rpctypes.TokenFieldNameGRPC, Value: token})
	return c, nil
}

func (p *pool) connectTo(ctx context.Context, host int, stream bool) (*channel, error) {
	socket, err := new(net.Dialer).DialContext(ctx, "tcp", p.hosts[host])
	if err == nil && p.tls != nil {
		socket, err = secure.Client(ctx, socket, p.hosts[host], p.tls)
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
	p.open[c] = struct{}{}
	if !stream {
		p.calling++
	}
	return c, nil
}

// staleTokens are the answers that a token gets which has expired, or was given before the
// last change of a right. The server looks at it before anything else.
var staleTokens = []error{rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthOldRevision}

// login returns the token that requests have to bring, and asks for one by a connection if
// there is none. To check a password takes a server a tenth of a second, so all connections
// have the same.
func (p *pool) login(ctx context.Context, c *channel) (token string, err error) {
	p.mu.Lock()
	token = p.token
	p.mu.Unlock()
	if token != "" {
		return token, nil
	}
	resp := new(pb.AuthenticateResponse)
	req := &pb.AuthenticateRequest{Name: p.username, Password: p.password}
	if err := c.Call(ctx, pb.Auth_Authenticate_FullMethodName, req, resp); err != nil {
		return "", err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.token = resp.Token
	return p.token, nil
}

// forget has the next connection get another token, and closes those that are idle. It may
// be called of nil.
func (p *pool) forget() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.token = ""
	p.mu.Unlock()
	p.free.Empty()
}

// Close implements idle.Conn.
func (c *channel) Close() error {
	c.pool.mu.Lock()
	if _, open := c.pool.open[c]; open {
		delete(c.pool.open, c)
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
		c, err := p.dial(p.ctx, (first+i)%len(p.hosts), false)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		leads, err := c.leads()
		switch {
		case err != nil:
			failures = append(failures, fmt.Errorf("%s: %w", p.hosts[c.host], err))
			_ = c.Close() // may be closed already
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
// way, gRPC may have a connection still, or know another way: it heeds HTTPS_PROXY. If that
// took all of the caller's time, the next goes by gRPC at once.
func (s streams) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	p := s.pool
	if p.barred.Swap(false) {
		return s.ClientConnInterface.NewStream(ctx, desc, method, opts...)
	}
	first := int(p.streamed.Add(1) % uint32(len(p.hosts)))
	for i := range p.hosts {
		if c, err := p.dial(ctx, (first+i)%len(p.hosts), true); err == nil {
			return c.open(ctx, method)
		}
	}
	p.barred.Store(ctx.Err() != nil)
	return s.ClientConnInterface.NewStream(ctx, desc, method, opts...)
}

// open opens a stream, to which the connection belongs.
func (c *channel) open(ctx context.Context, method string) (grpc.ClientStream, error) {
	s, err := c.Open(ctx, method)
	if err != nil {
		_ = c.Close() // may be closed already
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = c.Close() }) // may be closed already
	return s, nil
}
