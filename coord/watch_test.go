package coord_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap/zaptest/observer"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
)

func TestWatchShowsWhatHappens(t *testing.T) {
	watching(t, func(t *testing.T, w *watchWorld) {
		n := w.create("0")
		o := w.observe(t.Context())
		o.saw("0=0")
		w.create("1")
		w.settle()
		o.saw("0=0 1=1")
		n, err := w.s.Update(t.Context(), n, []byte("new"))
		if err != nil {
			t.Fatal(err)
		}
		w.settle()
		o.saw("0=new 1=1")
		time.Sleep(time.Minute) // nothing happens
		o.saw()
		if err := w.s.Delete(t.Context(), n); err != nil {
			t.Fatal(err)
		}
		w.store.RemoveDir("test", dir)
		w.settle()
		o.cameTo("")
	})
}

// What an observer is shown first is there the moment it comes, whoever else
// watches already, and the others see nothing of its coming.
func TestNewcomersAreShownWhatIsThere(t *testing.T) {
	watching(t, func(t *testing.T, w *watchWorld) {
		first := w.observe(t.Context())
		first.saw("")
		var want []string
		for i := range 10 {
			w.create(fmt.Sprint(i))
			want = append(want, fmt.Sprintf("%d=%d", i, i))
			w.observe(t.Context()).saw(strings.Join(want, " "))
		}
		w.observe(t.Context()).saw(strings.Join(want, " "))
		w.settle()
		first.cameTo(strings.Join(want, " "))
		w.observe(t.Context())
		w.settle()
		first.saw()
	})
}

func TestThousandObserversShareAWatch(t *testing.T) {
	watching(t, func(t *testing.T, w *watchWorld) {
		const many = 1000
		ctx, cancel := context.WithCancel(t.Context())
		var all []*watched
		for range many {
			o := &watched{t: t, done: make(chan struct{})}
			all = append(all, o)
			go func() {
				defer close(o.done)
				for nodes, err := range w.c.Watch(ctx, dir) {
					if o.err = err; err == nil {
						o.states = append(o.states, state(nodes))
					}
				}
			}()
		}
		w.settle()
		for _, o := range all {
			o.saw("")
		}
		if n := w.store.Stats().Watches; n > 1 {
			t.Errorf("%d watches for %d observers", n, many)
		}
		w.create("0")
		w.settle()
		for _, o := range all {
			o.saw("0=0")
		}
		cancel()
		for _, o := range all {
			o.ended(context.Canceled)
		}
		if n := w.store.Stats().Watches; n != 0 {
			t.Errorf("%d watches for nobody", n)
		}
	})
}

// A slow observer keeps nobody waiting, and is shown the latest when it comes
// back and not all that it has missed.
func TestSlowObserver(t *testing.T) {
	watching(t, func(t *testing.T, w *watchWorld) {
		quick := w.observe(t.Context())
		quick.saw("")
		busy := make(chan struct{})
		var states []string
		done := make(chan struct{})
		go func() {
			defer close(done)
			for nodes, err := range w.c.Watch(t.Context(), dir) {
				if err != nil {
					t.Error(err)
					return
				}
				if states = append(states, state(nodes)); len(states) == 2 {
					return
				}
				<-busy
			}
		}()
		synctest.Wait()
		for i := range 20 {
			n := w.create(fmt.Sprint(i))
			w.settle()
			quick.saw(fmt.Sprintf("%d=%d", i, i))
			if i == 19 {
				break
			}
			if err := w.s.Delete(t.Context(), n); err != nil {
				t.Fatal(err)
			}
			w.settle()
			quick.saw("")
		}
		close(busy)
		<-done
		if want := []string{"", "19=19"}; !slices.Equal(states, want) {
			t.Errorf("the slow one was shown %q; want %q", states, want)
		}
	})
}

// Whatever the link does, an observer's ctx and the client's Close end the watch
// at once.
func TestWatchEnds(t *testing.T) {
	for name, fail := range map[string]func(*mem.Link){
		"sound":     func(*mem.Link) {},
		"cut":       (*mem.Link).Cut,
		"frozen":    func(l *mem.Link) { l.Freeze(mem.Both) },
		"blackhole": func(l *mem.Link) { l.Blackhole(mem.Both) },
	} {
		t.Run(name, func(t *testing.T) {
			watching(t, func(t *testing.T, w *watchWorld) {
				ctx, cancel := context.WithCancel(t.Context())
				canceled, late, closed := w.observe(ctx), w.observe(ctx), w.observe(t.Context())
				fail(w.link)
				w.settle()
				early, stays := w.observe(ctx), w.observe(t.Context()) // begun on the broken link
				cancel()
				for _, o := range []*watched{canceled, late, early} {
					o.ended(context.Canceled)
				}
				start := time.Now()
				closing := make(chan error, 1)
				go func() { closing <- w.c.Close(context.Background()) }()
				closed.ended(coord.ErrClosed)
				stays.ended(coord.ErrClosed)
				if err := <-closing; err != nil || time.Since(start) > time.Second {
					t.Errorf("Close: %v after %v", err, time.Since(start))
				}
				w.observe(t.Context()).ended(coord.ErrClosed)
				w.observe(ctx).ended(context.Canceled)
			})
		})
	}
}

func TestWatchOfAnEndedContextOrAnInvalidDirectory(t *testing.T) {
	bubble(t, func(t *testing.T, c *coord.Client, _ *mem.Conn, _ *observer.ObservedLogs) {
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("why")
		cancel(why)
		turns := 0
		for nodes, err := range c.Watch(ctx, dir) {
			turns++
			if nodes != nil || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "why") {
				t.Errorf("yielded %v, %v", nodes, err)
			}
		}
		for _, name := range []string{"", "a/b", ".fence"} {
			for nodes, err := range c.Watch(t.Context(), name) {
				turns++
				if nodes != nil || !errors.Is(err, coord.ErrInvalid) {
					t.Errorf("directory %q: yielded %v, %v", name, nodes, err)
				}
			}
		}
		if turns != 4 {
			t.Errorf("yielded %d times; want once each", turns)
		}
	})
}

// An outage shows nothing, for however long, and then the latest state.
func TestWatchOutlivesAnOutage(t *testing.T) {
	for name, fail := range map[string]func(*mem.Link){
		"cut":       (*mem.Link).Cut,
		"frozen":    func(l *mem.Link) { l.Freeze(mem.Both) },
		"blackhole": func(l *mem.Link) { l.Blackhole(mem.Both) },
	} {
		t.Run(name, func(t *testing.T) {
			watching(t, func(t *testing.T, w *watchWorld) {
				o := w.observe(t.Context())
				o.saw("")
				fail(w.link)
				w.create("0")
				time.Sleep(time.Hour)
				begun := w.observe(t.Context())
				w.create("1")
				time.Sleep(time.Hour)
				o.saw()
				begun.saw()
				if err := w.link.Heal(); err != nil {
					t.Fatal(err)
				}
				// Where the directory is listed, the longest pause is 5 s.
				time.Sleep(7 * w.late)
				o.cameTo("0=0 1=1")
				begun.saw("0=0 1=1")
			})
		})
	}
}

// Whoever comes while the watch is about to begin is shown a state of its own,
// although nothing changes.
func TestNewcomerOnAWatchThatHasNotBegun(t *testing.T) {
	watching(t, func(t *testing.T, w *watchWorld) {
		held := w.link.Hold(mem.OpWatch, mem.OpList)
		first := w.observe(t.Context())
		<-held.Caught()
		second := w.observe(t.Context())
		w.create("0")
		third := w.observe(t.Context())
		held.Release()
		first.cameTo("0=0")
		second.saw("0=0")
		third.saw("0=0")
	})
}

// An end that comes while the consumer is busy is not hidden by news.
func TestWatchThatEndsWhileItsConsumerIsBusy(t *testing.T) {
	watching(t, func(t *testing.T, w *watchWorld) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		other := w.observe(t.Context())
		var errs []error
		for _, err := range w.c.Watch(ctx, dir) {
			if errs = append(errs, err); len(errs) == 1 {
				w.create("0")
				w.settle()
				other.cameTo("0=0")
				cancel()
			}
		}
		if len(errs) != 2 || errs[0] != nil || !errors.Is(errs[1], context.Canceled) {
			t.Errorf("yielded %v", errs)
		}
	})
}
