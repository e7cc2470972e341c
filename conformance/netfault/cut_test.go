package netfault

import (
	"sync"
	"testing"
)

// refused reports whether a client can tell that it has no connection: connect
// fails, or what was connected is reset before it carried anything.
func refused(t testing.TB, addr string) bool {
	t.Helper()
	conn, err := dialOn(addr)
	if err != nil {
		return true
	}
	_, err = guarded(t, conn).Read(make([]byte, 1))
	return err != nil
}

func TestCut(t *testing.T) {
	r := newRig(t)
	client, server := r.pair(t)
	works(t, client, server)
	r.Cut()
	if n := r.Conns(); n != 0 {
		t.Errorf("Conns() = %d after Cut", n)
	}
	receiveReset(t, client)
	receiveReset(t, server)
	for range 3 {
		if !refused(t, r.Addr()) {
			t.Fatal("a cut proxy took a connection")
		}
	}
	r.Cut() // again: nothing new

	addr := r.Addr()
	heal(t, r.Control)
	heal(t, r.Control) // nor this
	if r.Addr() != addr {
		t.Errorf("the address changed from %s to %s", addr, r.Addr())
	}
	client, server = r.pair(t)
	works(t, client, server)
	if s := r.Stats(); s.Accepted != 2 {
		t.Errorf("Accepted = %d, want the 2 that were not refused", s.Accepted)
	}
}

// What Reject resets is counted, and Heal ends it.
func TestReject(t *testing.T) {
	r := newRig(t)
	client, server := r.pair(t)
	works(t, client, server)
	if s := r.Stats(); s.Up.Reads == 0 || s.Down.Reads == 0 {
		t.Errorf("counters of a connection that was used: %+v", s)
	}
	r.Reject()
	receiveReset(t, client)
	receiveReset(t, server)
	for range 3 {
		if !refused(t, r.Addr()) {
			t.Fatal("a connection was not reset")
		}
	}
	if s := r.Stats(); s.Accepted != 4 || s.Conns != 0 {
		t.Errorf("counters after a connection, and three that were rejected: %+v", s)
	}
	heal(t, r.Control)
	client, server = r.pair(t)
	works(t, client, server)
}

// Cut does not wait for, nor deliver, what another fault holds.
func TestCutWithBytesHeld(t *testing.T) {
	for name, hold := range map[string]func(*Control){
		"frozen":  func(c *Control) { c.Freeze(Both) },
		"delayed": func(c *Control) { c.Delay(Both, forever) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			client, server := r.pair(t)
			hold(r.Control)
			send(t, client, "request")
			send(t, server, "event")
			must(t, r.Wait(patient(t), func(s Stats) bool { return s.Up.Held == 7 && s.Down.Held == 5 }))
			r.Cut()
			receiveReset(t, client)
			receiveReset(t, server)
			heal(t, r.Control)
			if s := r.Stats(); s.Up.Dropped != 7 || s.Down.Dropped != 5 {
				t.Errorf("counters after Cut: %+v, want 7 and 5 bytes dropped", s)
			}
			client, server = r.pair(t)
			works(t, client, server)
		})
	}
}

func TestDropConnections(t *testing.T) {
	r := newRig(t)
	client, server := r.pair(t)
	client2, server2 := r.pair(t)
	r.DropConnections()
	for _, conn := range []stream{client, server, client2, server2} {
		receiveReset(t, conn)
	}
	client, server = r.pair(t)
	works(t, client, server)
}

// Connections made while the link is broken and healed over and over are served
// or fail; none is lost track of, and none survives a Cut that came after it.
func TestFaultsRacingNewConnections(t *testing.T) {
	const clients, rounds = 4, 50
	r := newRig(t)
	stop := make(chan struct{})
	var dialers, echo sync.WaitGroup
	echo.Go(func() {
		for conn := range r.server.conns {
			echo.Go(func() { echoAll(conn) })
		}
	})
	for range clients {
		dialers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					tryEcho(t, r.Addr())
				}
			}
		})
	}
	for range rounds {
		for _, fault := range []func(){
			r.Cut,
			func() { r.Freeze(Both) },
			func() { r.Blackhole(Up) },
			r.DropReplies,
			r.DropNextReply,
			r.DropConnections,
			func() { r.Delay(Both, forever) },
		} {
			// Not before clients have come in over the healed link.
			seen := r.Stats().Accepted
			must(t, r.Wait(patient(t), func(s Stats) bool { return s.Accepted > seen }))
			fault()
			heal(t, r.Control)
		}
	}
	close(stop)
	dialers.Wait()
	must(t, r.WaitConns(patient(t), 0))
	checkSums(t, r.Stats())
	tryEcho(t, r.Addr())
	must(t, r.WaitConns(patient(t), 0))
	must(t, r.server.Close())
	closeAll(t, r.Control)
}
