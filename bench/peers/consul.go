package peers

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/bench/contest"
)

// Consul returns the sides of a Consul datacenter.
func Consul() []contest.Side {
	locks := []contest.Kind{contest.Locks}
	return []contest.Side{
		oursOn("consul"),
		{Name: contest.Floor, Kinds: floorKinds, Open: openConsulFloor, Standing: consulStanding},
		{Name: "api.Lock, session reused", Kinds: locks, Open: openConsul(consulLock)},
		{Name: "api.Lock", Kinds: locks, Open: openConsul(consulLockWithSession)},
		{Name: "api.Semaphore", Kinds: []contest.Kind{contest.Locks, contest.Permits}, Open: openConsul(consulSemaphoreOfOne)},
	}
}

// dialConsul returns a client as the library makes it, or one that keeps as many
// connections as it needs.
func dialConsul(d contest.Dial, keepAll bool) (*api.Client, *http.Transport, error) {
	config := api.DefaultConfig()
	config.Address = d.Servers[0]
	if d.TLS != nil {
		config.Scheme = "https"
		config.TLSConfig = api.TLSConfig{CAFile: d.TLS.CA, CertFile: d.TLS.ClientCert, KeyFile: d.TLS.ClientKey}
	}
	if keepAll {
		config.Transport.MaxIdleConns, config.Transport.MaxIdleConnsPerHost = 0, 10_000
	}
	c, err := api.NewClient(config)
	return c, config.Transport, err
}

// consulProgram is a client with a session, of which a lock of another contender
// of the same key gets one of its own.
type consulProgram struct {
	client *api.Client
	wire   *http.Transport
	ttl    time.Duration
	lock   func(p *consulProgram, key string) (contest.Locker, error)
	ends   context.CancelFunc
	life   context.Context

	mu       sync.Mutex
	sessions []string
	used     map[string]int // sessions that stand for a key
}

func openConsul(lock func(p *consulProgram, key string) (contest.Locker, error)) func(context.Context, contest.Dial) (contest.Program, error) {
	return func(_ context.Context, d contest.Dial) (contest.Program, error) {
		return newConsulProgram(d, false, lock)
	}
}

func newConsulProgram(d contest.Dial, keepAll bool, lock func(p *consulProgram, key string) (contest.Locker, error)) (*consulProgram, error) {
	c, wire, err := dialConsul(d, keepAll)
	if err != nil {
		return nil, err
	}
	p := &consulProgram{client: c, wire: wire, ttl: d.TTL, lock: lock, used: make(map[string]int)}
	p.life, p.ends = context.WithCancel(context.Background())
	return p, nil
}

// session returns one that does not yet stand for the key.
func (p *consulProgram) session(key string) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.used[key]
	p.used[key]++
	if n == len(p.sessions) {
		id, _, err := p.client.Session().CreateNoChecks(&api.SessionEntry{
			TTL: p.ttl.String(), Behavior: api.SessionBehaviorDelete, LockDelay: time.Nanosecond, // 0 is 15 s
		}, nil)
		if err != nil {
			return "", err
		}
		p.sessions = append(p.sessions, id)
		go func() { _ = p.client.Session().RenewPeriodic(p.ttl.String(), id, nil, p.life.Done()) }()
	}
	return p.sessions[n], nil
}

func (p *consulProgram) Locker(_ context.Context, key string) (contest.Locker, error) {
	return p.lock(p, key)
}

func (p *consulProgram) Close() error {
	p.ends() // each renewal ends its session
	var errs []error
	for _, id := range p.sessions {
		_, err := p.client.Session().Destroy(id, nil)
		errs = append(errs, err)
	}
	p.wire.CloseIdleConnections()
	return errors.Join(errs...)
}

// Permit implements contest.Limited.
func (p *consulProgram) Permit(_ context.Context, key string, limit int) (contest.Locker, error) {
	session, err := p.session(key)
	if err != nil {
		return nil, err
	}
	s, err := p.client.SemaphoreOpts(&api.SemaphoreOptions{Prefix: key, Limit: limit, Session: session})
	return stoppable{s.Acquire, s.Release}, err
}

func consulSemaphoreOfOne(p *consulProgram, key string) (contest.Locker, error) {
	return p.Permit(context.Background(), key, 1)
}

func consulLock(p *consulProgram, key string) (contest.Locker, error) {
	session, err := p.session(key)
	if err != nil {
		return nil, err
	}
	l, err := p.client.LockOpts(&api.LockOptions{Key: key, Session: session})
	return stoppable{l.Lock, l.Unlock}, err
}

// consulLockWithSession is the lock as it is without options: it opens a session
// with each Lock.
func consulLockWithSession(p *consulProgram, key string) (contest.Locker, error) {
	l, err := p.client.LockOpts(&api.LockOptions{Key: key, SessionTTL: p.ttl.String()})
	return stoppable{l.Lock, l.Unlock}, err
}

// stoppable is a lock of Consul's client.
type stoppable struct {
	lock   func(stop <-chan struct{}) (<-chan struct{}, error)
	unlock func() error
}

func (s stoppable) Lock(ctx context.Context) error {
	held, err := s.lock(ctx.Done())
	if err == nil && held == nil { // it was stopped
		return context.Cause(ctx)
	}
	return err
}

func (s stoppable) Unlock(context.Context) error { return s.unlock() }
