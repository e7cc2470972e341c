package netfault

import (
	"errors"
	"io"
	"syscall"
	"testing"
)

// Where bytes were lost the connection is dead and Heal says so to both ends;
// where none were, it lives on.
func TestBlackholeLosesForGood(t *testing.T) {
	for _, d := range directions {
		t.Run(d.String(), func(t *testing.T) {
			r := newRig(t)
			client, server := r.pair(t)
			idleClient, idleServer := r.pair(t)
			r.Blackhole(d)

			from, to := ends(d, client, server)
			send(t, from, "lost")
			must(t, r.Wait(patient(t), func(s Stats) bool { return flow(s, d).Dropped == 4 }))
			send(t, to, "other way")
			receive(t, from, "other way")

			heal(t, r.Control)
			receiveReset(t, client)
			receiveReset(t, server)
			works(t, idleClient, idleServer)
			must(t, r.WaitConns(patient(t), 1))
		})
	}
}

func TestBlackholeTakesHeldBytes(t *testing.T) {
	for _, hold := range []func(*Control){
		func(c *Control) { c.Freeze(Both) },
		func(c *Control) { c.Delay(Both, forever) },
	} {
		for _, d := range directions {
			t.Run(d.String(), func(t *testing.T) {
				r := newRig(t)
				client, server := r.pair(t)
				hold(r.Control)
				from, _ := ends(d, client, server)
				send(t, from, "held")
				must(t, r.WaitHeld(patient(t), d))
				r.Blackhole(d)
				if f := flow(r.Stats(), d); f.Dropped != 4 || f.Held != 0 {
					t.Errorf("after Blackhole: %+v, want the 4 held bytes dropped", f)
				}
				heal(t, r.Control)
				receiveReset(t, client)
				receiveReset(t, server)
			})
		}
	}
}

// An end of stream is lost like a byte: passing it on later would make a
// truncated stream look whole.
func TestBlackholeTakesEndOfStream(t *testing.T) {
	r := newRig(t)
	client, server := r.pair(t)
	r.Blackhole(Up)
	must(t, client.Close())
	must(t, r.Wait(patient(t), func(s Stats) bool { return s.Open == 0 }))
	if n := r.Conns(); n != 1 {
		t.Errorf("Conns() = %d: the server cannot know of the end", n)
	}
	heal(t, r.Control)
	receiveReset(t, server)
}

func TestBlackholeNewConnection(t *testing.T) {
	r := newRig(t)
	r.Blackhole(Up)
	lossy := dial(t, r.Addr())
	must(t, r.WaitConns(patient(t), 1))
	send(t, lossy, "lost")
	must(t, r.Wait(patient(t), func(s Stats) bool { return s.Up.Dropped == 4 }))
	idle := dial(t, r.Addr())
	must(t, r.WaitConns(patient(t), 2))
	if n := len(r.server.conns); n != 0 {
		t.Errorf("%d connections reached the server", n)
	}

	heal(t, r.Control)
	receiveReset(t, lossy)
	works(t, idle, r.server.accepted(t))
}

// A black hole never fills up, and takes what waits for a receiver who does not
// read, the rest of an interrupted write included.
func TestBlackholeTakesWhatIsBlocked(t *testing.T) {
	for name, block := range map[string]func(*Control){
		"by a freeze":       func(c *Control) { c.Freeze(Up) },
		"by the receiver":   func(*Control) {},
		"by a slow network": func(c *Control) { c.Delay(Up, forever) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			client, server := r.pair(t)
			block(r.Control)
			const size = 32 << 20
			sent := make(chan error, 1)
			go func() {
				_, err := io.CopyN(client, zeros{}, size)
				sent <- err
			}()
			must(t, r.Wait(patient(t), func(s Stats) bool { return s.Up.Held >= window }))
			r.Blackhole(Up)
			if held := r.Held(Up); held != 0 {
				t.Errorf("%d bytes held in a black hole", held)
			}
			must(t, <-sent)
			must(t, r.Wait(patient(t), func(s Stats) bool { return s.Up.Forwarded+s.Up.Dropped == size }))
			heal(t, r.Control)
			if _, err := io.Copy(io.Discard, server); !errors.Is(err, syscall.ECONNRESET) {
				t.Errorf("the server's stream ended with %v, want a reset", err)
			}
		})
	}
}

func TestDropReplies(t *testing.T) {
	r := newRig(t)
	client, server := r.pair(t)
	r.DropReplies()
	for _, request := range []string{"one", "two"} {
		send(t, client, request)
		receive(t, server, request)
		send(t, server, "ack")
	}
	newClient, newServer := r.pair(t)
	send(t, newClient, "three")
	receive(t, newServer, "three")
	send(t, newServer, "ack")
	must(t, r.Wait(patient(t), func(s Stats) bool { return s.Down.Dropped == 9 }))
	heal(t, r.Control)
	for _, conn := range []stream{client, server, newClient, newServer} {
		receiveReset(t, conn)
	}
}

// The way to lose the reply of one certain request.
func TestFreezeThenDropReplies(t *testing.T) {
	r := newRig(t)
	client, server := r.pair(t)
	r.Freeze(Up)
	send(t, client, "create")
	must(t, r.WaitHeld(patient(t), Up))
	r.DropReplies()
	r.Thaw(Up)
	receive(t, server, "create")
	send(t, server, "created")
	must(t, r.Wait(patient(t), func(s Stats) bool { return s.Down.Dropped == 7 }))
	heal(t, r.Control)
	receiveReset(t, client)
}

func TestDropNextReply(t *testing.T) {
	r := newRig(t)
	client, server := r.pair(t)
	bystander, bystanderServer := r.pair(t)
	r.DropNextReply()
	send(t, client, "create")
	receive(t, server, "create")
	works(t, bystander, bystanderServer) // it is not its turn
	send(t, server, "created")
	receiveReset(t, client)
	receiveReset(t, server)
	if s := r.Stats(); s.Down.Dropped != 7 {
		t.Errorf("dropped %d bytes, want 7", s.Down.Dropped)
	}

	again, againServer := r.pair(t)
	works(t, again, againServer)
}

// Only the reply to what passed after the call is lost, not one before it.
func TestDropNextReplyKeepsEarlierReply(t *testing.T) {
	r := newRig(t)
	client, server := r.pair(t)
	send(t, client, "one")
	receive(t, server, "one")
	r.Freeze(Down)
	send(t, server, "reply one")
	must(t, r.WaitHeld(patient(t), Down))
	r.DropNextReply()
	send(t, client, "two")
	receive(t, server, "two")
	send(t, server, "reply two")
	must(t, r.Wait(patient(t), func(s Stats) bool { return s.Down.Dropped == 9 }))
	r.Thaw(Down)
	must(t, r.WaitConns(patient(t), 0))
	if s := r.Stats(); s.Down.Forwarded != 9 {
		t.Errorf("forwarded %d bytes down, want the 9 of the earlier reply", s.Down.Forwarded)
	}
}

func TestHealCallsOffDropNextReply(t *testing.T) {
	t.Run("before the request", func(t *testing.T) {
		r := newRig(t)
		client, server := r.pair(t)
		r.DropNextReply()
		heal(t, r.Control)
		works(t, client, server)
	})
	t.Run("before the reply", func(t *testing.T) {
		r := newRig(t)
		client, server := r.pair(t)
		r.DropNextReply()
		send(t, client, "request")
		receive(t, server, "request")
		heal(t, r.Control)
		send(t, server, "reply")
		receive(t, client, "reply")
	})
}
