package netfault

import (
	"net"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// Under whatever fault, Close leaves no goroutine and no connection.
func TestCloseUnderEveryFault(t *testing.T) {
	for name, fault := range map[string]func(*Control){
		"none":             func(*Control) {},
		"frozen":           func(c *Control) { c.Freeze(Both) },
		"black hole":       func(c *Control) { c.Blackhole(Both) },
		"delayed":          func(c *Control) { c.Delay(Both, forever) },
		"cut":              (*Control).Cut,
		"drop replies":     (*Control).DropReplies,
		"drop next reply":  (*Control).DropNextReply,
		"drop connections": (*Control).DropConnections,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBackend(t)
			before := goleak.IgnoreCurrent()
			p, err := newOn(b.addr())
			must(t, err)
			client := dial(t, p.Addr())
			server := b.accepted(t)
			works(t, client, server)
			fault(p.Control)
			// The connection may be gone already, and then these fail.
			_, _ = client.Write([]byte("request"))
			_, _ = server.Write([]byte("event"))

			closeAll(t, p.Control)
			wantNoneLeft(t, before)
			for _, conn := range []net.Conn{client, server} {
				for {
					if _, err := conn.Read(make([]byte, 16)); err != nil {
						break
					}
				}
			}
			if !refused(t, p.Addr()) {
				t.Error("a closed proxy took a connection")
			}
			closeAll(t, p.Control)
		})
	}
}

// A connection that waits to be connected to the server holds nothing up.
func TestCloseBeforeConnected(t *testing.T) {
	r := newRig(t)
	r.Freeze(Up)
	client := dial(t, r.Addr())
	must(t, r.WaitConns(patient(t), 1))
	closeAll(t, r.Control)
	receiveReset(t, client)
	if n := len(r.server.conns); n != 0 {
		t.Errorf("%d connections reached the server", n)
	}
}

func TestCloseIsConcurrentAndFinal(t *testing.T) {
	r := newRig(t)
	client, server := r.pair(t)
	works(t, client, server)
	var closers sync.WaitGroup
	for range 4 {
		closers.Go(func() {
			if err := r.Close(); err != nil {
				t.Error(err)
			}
		})
		closers.Go(func() {
			r.Cut()
			if err := r.Heal(); err != nil {
				t.Error(err)
			}
		})
	}
	closers.Wait()
	r.Freeze(Both)
	heal(t, r.Control)
	if !refused(t, r.Addr()) {
		t.Error("Heal brought a closed proxy back")
	}
}
