package peers

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/foreign"
)

// ZooKeeper returns the sides of a ZooKeeper ensemble.
func ZooKeeper() []contest.Side {
	return []contest.Side{
		atHome(oursOn("zk")),
		{Name: contest.Floor, Kinds: floorKinds, Open: openZK(zkFloorLock), Standing: zkStanding},
		{Name: "zk.Lock", Kinds: []contest.Kind{contest.Locks}, Open: openZK(zkLock), Standing: zkStanding},
		abroad("Curator", foreign.Curator, nil),
		abroad("kazoo", foreign.Kazoo, map[contest.Kind]string{
			contest.ReadWrites: "a reader takes the last writer in line for the one ahead, also if that one is behind it, and both wait for ever",
		}),
	}
}

// atHome connects each program to the first of its servers alone, as the other sides'
// are: a client of ZooKeeper takes any of those it knows, and whether that is the
// leader decides more than the client does.
func atHome(s contest.Side) contest.Side {
	open := s.Open
	s.Open = func(ctx context.Context, d contest.Dial) (contest.Program, error) {
		d.Servers = d.Servers[:1]
		return open(ctx, d)
	}
	return s
}

var zkOpen = zk.WorldACL(zk.PermAll)

// zkProgram is a connection, which is a session.
type zkProgram struct {
	*zk.Conn
	events <-chan zk.Event
	lock   func(c *zk.Conn, dir string) contest.Locker
}

func openZK(lock func(c *zk.Conn, dir string) contest.Locker) func(context.Context, contest.Dial) (contest.Program, error) {
	return func(ctx context.Context, d contest.Dial) (contest.Program, error) {
		p, err := dialZK(ctx, d)
		if err != nil {
			return nil, err
		}
		p.lock = lock
		return p, nil
	}
}

func dialZK(ctx context.Context, d contest.Dial) (*zkProgram, error) {
	config, err := d.TLSConfig()
	if err != nil {
		return nil, err
	}
	c, events, err := zk.Connect(d.Servers[:1], d.TTL, zk.WithLogger(silent{}), zk.WithLogInfo(false),
		zk.WithDialer(func(network, host string, limit time.Duration) (net.Conn, error) {
			dialer := &net.Dialer{Timeout: limit}
			if config == nil {
				return dialer.Dial(network, host)
			}
			return tls.DialWithDialer(dialer, network, host, config)
		}))
	if err != nil {
		return nil, err
	}
	for {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				return &zkProgram{Conn: c, events: events}, nil
			}
		case <-ctx.Done():
			c.Close()
			return nil, context.Cause(ctx)
		}
	}
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func (p *zkProgram) Close() error {
	p.Conn.Close()
	for range p.events { // until its goroutines have ended
	}
	return nil
}

func (p *zkProgram) Locker(_ context.Context, key string) (contest.Locker, error) {
	return p.lock(p.Conn, "/"+key), nil
}

func zkStanding(ctx context.Context, d contest.Dial, key string) (int, error) {
	p, err := dialZK(ctx, d)
	if err != nil {
		return 0, err
	}
	defer p.Close()
	names, _, err := p.Children("/" + key)
	if errors.Is(err, zk.ErrNoNode) {
		return 0, nil
	}
	return len(names), err
}

func zkLock(c *zk.Conn, dir string) contest.Locker {
	l := zk.NewLock(c, dir, zkOpen)
	return plain{l.Lock, l.Unlock}
}
