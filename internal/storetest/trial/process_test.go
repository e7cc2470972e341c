package trial

import (
	"context"
	"net"
	"testing"
	"testing/synctest"

	"github.com/coordkit/coordkit/drivers/mem"
)

// inPipe has the holder of a fault at the other end of a pipe. done waits for its end.
func inPipe(c *cast) (here net.Conn, done func() error) {
	here, there := net.Pipe()
	ended := make(chan error, 1)
	client := c.Holder.client()
	go func() { ended <- Serve(context.Background(), there, client) }()
	c.Holder = InAnotherProcess(here)
	return here, func() error { return <-ended }
}

func TestProcess(t *testing.T) {
	for _, lasts := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := onMem(t, asIs)
			if lasts {
				c.Lasts = ttl / 4
			}
			here, done := inPipe(&c)
			defer here.Close()
			r := run(t, c.Fault, options)
			if err := done(); err != nil {
				t.Errorf("the process ended with %v", err)
			}
			if lasts {
				good(t, r, 0)
			} else {
				good(t, r, options.Trials)
			}
		})
	}
}

// A process that is killed tells nothing more, and its locks go to others.
func TestProcessKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := onMem(t, asIs)
		c.Untold = true
		here, done := inPipe(&c)
		c.Cut = func(_ context.Context, s Scene) error {
			s.History.Killed(HolderName)
			c.holder.Link().Freeze(mem.Both)
			return here.Close()
		}
		r := run(t, c.Fault, options)
		_ = done() // the end of the pipe
		good(t, r, 0)
	})
}

// A process that was paused beyond its TTL, and whose driver does not look at the
// clock, is found out by the resource.
func TestProcessThatBelievesItHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := onMem(t, tellsLate)
		c.Untold = true
		here, done := inPipe(&c)
		defer here.Close()
		freeze := c.Cut
		c.Cut = func(ctx context.Context, s Scene) error {
			s.History.Killed(HolderName)
			return freeze(ctx, s)
		}
		r := run(t, c.Fault, options)
		if err := done(); err != nil {
			t.Errorf("the process ended with %v", err)
		}
		if r.Overlaps == 0 {
			t.Errorf("\n%s", Table([]Result{r}))
		}
	})
}
