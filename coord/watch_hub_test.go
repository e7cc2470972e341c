package coord_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

type states = iter.Seq2[[]driver.Node, error]

// tampered is a connection whose watches are changed on their way.
type tampered struct {
	driver.Conn
	change func(ctx context.Context, s states) states

	now, most, total atomic.Int32 // watches that run, have run at a time, and at all
}

func (c *tampered) Watch(ctx context.Context, dir string) states {
	return func(yield func([]driver.Node, error) bool) {
		now := c.now.Add(1)
		defer c.now.Add(-1)
		c.total.Add(1)
		if now > c.most.Load() {
			c.most.Store(now)
		}
		for nodes, err := range c.change(ctx, c.Conn.(driver.Watcher).Watch(ctx, dir)) {
			if !yield(nodes, err) {
				return
			}
		}
	}
}

// lagging shows every state but the first late. The contract allows it.
func lagging(lag func() time.Duration) func(context.Context, states) states {
	return func(ctx context.Context, s states) states {
		return func(yield func([]driver.Node, error) bool) {
			first := true
			for nodes, err := range s {
				if !first && err == nil {
					select {
					case <-time.After(lag()):
					case <-ctx.Done():
						yield(nil, ctx.Err())
						return
					}
				}
				if first = false; !yield(nodes, err) {
					return
				}
			}
		}
	}
}

// The watch that runs has fallen behind by an hour. Whoever comes is shown what
// is there, and nobody anything older afterwards.
func TestNewcomerOnAWatchThatLags(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := &tampered{change: lagging(func() time.Duration { return time.Hour })}
		w := newWatchWorld(t, func(c driver.Conn) driver.Conn { conn.Conn = c; return conn })
		first := w.observe(t.Context())
		first.saw("")
		n := w.create("0")
		first.saw() // the change is on its way
		if err := w.s.Delete(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		w.create("1")
		newcomer := w.observe(t.Context())
		newcomer.saw("1=1")
		first.saw("1=1")
		time.Sleep(3 * time.Hour)
		newcomer.saw() // what was late is shown to nobody any more
		first.saw()
	})
}

// A counter that only rises, on a store that is slow and a watch that lags:
// whoever comes, at any time, sees at least what was acknowledged before, and
// nobody sees it fall.
func TestNobodySeesThePast(t *testing.T) {
	for name, wrap := range map[string]func(*tampered) driver.Conn{
		"watch": func(c *tampered) driver.Conn { return c },
		"list":  func(c *tampered) driver.Conn { return listOnly{c.Conn} },
	} {
		for seed := range uint64(5) {
			t.Run(fmt.Sprint(name, ", seed ", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { nobodySeesThePast(t, seed, wrap) })
			})
		}
	}
}

func nobodySeesThePast(t *testing.T, seed uint64, wrap func(*tampered) driver.Conn) {
	random := rand.New(rand.NewPCG(seed, 0))
	var mu sync.Mutex
	upTo := func(most time.Duration) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(random.Int64N(int64(most)))
	}
	conn := &tampered{change: lagging(func() time.Duration { return upTo(50 * time.Millisecond) })}
	w := newWatchWorld(t, func(c driver.Conn) driver.Conn { conn.Conn = c; return wrap(conn) })
	w.link.Delay(mem.Both, 2*time.Millisecond)
	n, err := w.s.Create(t.Context(), dir, "0", []byte("0"))
	if err != nil {
		t.Fatal(err)
	}

	const last = 1000
	var acknowledged atomic.Int64
	var observers sync.WaitGroup
	for range 100 {
		observers.Go(func() {
			for range 5 {
				time.Sleep(upTo(time.Second))
				least := acknowledged.Load()
				left := 1 + int(upTo(20))
				for nodes, err := range w.c.Watch(t.Context(), dir) {
					if err != nil || len(nodes) != 1 {
						t.Errorf("shown %v, %v", nodes, err)
						return
					}
					now, _ := strconv.ParseInt(string(nodes[0].Data), 10, 64)
					if now < least {
						t.Errorf("%d was shown after %d", now, least)
						return
					}
					if least = now; left == 0 || now == last {
						break
					}
					left--
				}
			}
		})
	}
	for i := range last {
		if _, err := w.s.Update(t.Context(), n, []byte(fmt.Sprint(i+1))); err != nil {
			t.Fatal(err)
		}
		acknowledged.Store(int64(i + 1))
		time.Sleep(upTo(10 * time.Millisecond))
	}
	observers.Wait()
	synctest.Wait()
	if most, now := conn.most.Load(), conn.now.Load(); most > 1 || now != 0 {
		t.Errorf("%d watches at a time, %d are left", most, now)
	}
}

// Newcomers without end do not keep states from being shown.
func TestNewcomersStarveNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatchWorld(t, func(c driver.Conn) driver.Conn { return c })
		w.link.Delay(mem.Both, 20*time.Millisecond)
		first := w.observe(t.Context())
		for i := range 1000 {
			if i%100 == 50 {
				w.create(fmt.Sprint(i))
			}
			w.observe(t.Context())
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got := len(first.states); got != 11 {
			t.Errorf("%d states were shown of 11: %q", got, first.states)
		}
	})
}

// A thousand who come at once, in real time, are served by a few watches, and
// leave no goroutine.
func TestManyComeAndGoAtOnce(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	conn := &tampered{Conn: mem.NewStore().Open("test"), change: func(_ context.Context, s states) states { return s }}
	c, err := coord.New(conn, coord.Config{})
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var once sync.Once
	begun := make(chan struct{}) // closed when somebody was shown something
	for i := range 1000 {
		all.Go(func() {
			for _, err := range c.Watch(t.Context(), dir) {
				if err == nil {
					once.Do(func() { close(begun) })
				} else if !errors.Is(err, coord.ErrClosed) {
					t.Error(err)
				}
				if i%2 == 0 {
					break // the others stay until the client is closed
				}
			}
		})
	}
	all.Go(func() {
		<-begun
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	all.Wait()
	if most := conn.most.Load(); most != 1 || conn.now.Load() != 0 {
		t.Errorf("%d watches at a time, %d are left", most, conn.now.Load())
	}
}
