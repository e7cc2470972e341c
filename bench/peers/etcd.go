package peers

import (
	"context"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/client/v3/concurrency"
	recipe "go.etcd.io/etcd/client/v3/experimental/recipes"
	"go.uber.org/zap"

	"github.com/coordkit/coordkit/bench/contest"
)

// Etcd returns the sides of an etcd cluster.
func Etcd() []contest.Side {
	return []contest.Side{
		oursOn("etcd"),
		{Name: contest.Floor, Kinds: floorKinds, Open: openEtcdFloor, Standing: etcdStanding},
		{Name: "Mutex", Kinds: []contest.Kind{contest.Locks}, Open: openEtcd(etcdMutex), Standing: etcdStanding},
		{Name: "Election", Kinds: []contest.Kind{contest.Locks, contest.Elections, contest.Observers},
			Open: openEtcd(etcdElection), Standing: etcdStanding},
		{Name: "experimental RWMutex", Kinds: []contest.Kind{contest.ReadWrites}, Open: openEtcd(nil)},
	}
}

func etcdStanding(ctx context.Context, d contest.Dial, key string) (int, error) {
	c, err := dialEtcd(d)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	resp, err := c.Get(ctx, key+"/", clientv3.WithPrefix(), clientv3.WithCountOnly())
	if err != nil {
		return 0, err
	}
	return int(resp.Count), nil
}

func openEtcd(lock func(s *concurrency.Session, key string) contest.Locker) func(context.Context, contest.Dial) (contest.Program, error) {
	return func(_ context.Context, d contest.Dial) (contest.Program, error) {
		c, err := dialEtcd(d)
		if err != nil {
			return nil, err
		}
		return &etcdProgram{client: c, ttl: d.TTL, lock: lock, used: make(map[string]int)}, nil
	}
}

func dialEtcd(d contest.Dial) (*clientv3.Client, error) {
	config, err := d.TLSConfig()
	if err != nil {
		return nil, err
	}
	return clientv3.New(clientv3.Config{Endpoints: d.Servers, TLS: config, DialTimeout: 10 * time.Second, Logger: zap.NewNop()})
}

// etcdProgram is a client with the recipes that come with it. A session of
// theirs stands in a line once, so there are as many as contenders of one key.
type etcdProgram struct {
	client *clientv3.Client
	ttl    time.Duration
	lock   func(s *concurrency.Session, key string) contest.Locker

	mu       sync.Mutex
	sessions []*concurrency.Session
	used     map[string]int // sessions that stand for a key
}

func (p *etcdProgram) Locker(_ context.Context, key string) (contest.Locker, error) {
	s, err := p.session(key)
	if err != nil {
		return nil, err
	}
	return p.lock(s, key), nil
}

func (p *etcdProgram) session(key string) (*concurrency.Session, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.used[key]
	p.used[key]++
	if n == len(p.sessions) {
		s, err := concurrency.NewSession(p.client, concurrency.WithTTL(int(p.ttl.Seconds())))
		if err != nil {
			return nil, err
		}
		p.sessions = append(p.sessions, s)
	}
	return p.sessions[n], nil
}

// ReadWrite implements contest.ReadWriter, with the experimental recipe.
func (p *etcdProgram) ReadWrite(_ context.Context, key string) (read, write contest.Locker, err error) {
	s, err := p.session(key)
	if err != nil {
		return nil, nil, err
	}
	m := recipe.NewRWMutex(s, key)
	return plain{m.RLock, m.RUnlock}, plain{m.Lock, m.Unlock}, nil
}

// Close ends the sessions, some at a time, and the connection.
func (p *etcdProgram) Close() error {
	var wg sync.WaitGroup
	limit := make(chan struct{}, 16)
	for _, s := range p.sessions {
		wg.Go(func() {
			limit <- struct{}{}
			_ = s.Close() // or else it expires
			<-limit
		})
	}
	wg.Wait()
	return p.client.Close()
}

func etcdMutex(s *concurrency.Session, key string) contest.Locker {
	return concurrency.NewMutex(s, key)
}

// campaign is an election as a lock: to be elected and to resign.
type campaign struct{ *concurrency.Election }

func etcdElection(s *concurrency.Session, key string) contest.Locker {
	return campaign{concurrency.NewElection(s, key)}
}

// Candidate implements contest.Candidates.
func (p *etcdProgram) Candidate(ctx context.Context, key string) (contest.Locker, error) {
	return p.Locker(ctx, key)
}

// Lead implements contest.Observed.
func (p *etcdProgram) Lead(ctx context.Context, key string) (func(context.Context, string) error, func(context.Context) error, error) {
	s, err := p.session(key)
	if err != nil {
		return nil, nil, err
	}
	e := concurrency.NewElection(s, key)
	return e.Proclaim, e.Resign, e.Campaign(ctx, "")
}

// Observe implements contest.Observed.
func (p *etcdProgram) Observe(ctx context.Context, key string, see func(value string)) error {
	s, err := p.session(key)
	if err != nil {
		return err
	}
	for resp := range concurrency.NewElection(s, key).Observe(ctx) {
		see(string(resp.Kvs[0].Value))
	}
	return ctx.Err()
}

func (c campaign) Lock(ctx context.Context) error   { return c.Campaign(ctx, "") }
func (c campaign) Unlock(ctx context.Context) error { return c.Resign(ctx) }

// plain is a lock whose calls know no context.
type plain struct{ lock, unlock func() error }

func (p plain) Lock(context.Context) error   { return p.lock() }
func (p plain) Unlock(context.Context) error { return p.unlock() }
