package netfault

import (
	"io"
	"testing"
)

func TestFreezeHoldsAndHealDelivers(t *testing.T) {
	for _, frozen := range []Direction{Up, Down, Both} {
		t.Run(frozen.String(), func(t *testing.T) {
			r := newRig(t)
			client, server := r.pair(t)
			works(t, client, server)
			r.Freeze(frozen)
			before := r.Stats()

			for _, d := range directions {
				from, to := ends(d, client, server)
				send(t, from, "late")
				if !frozen.has(d) {
					receive(t, to, "late")
					continue
				}
				must(t, r.Wait(patient(t), func(s Stats) bool { return flow(s, d).Held == 4 }))
			}
			after := r.Stats()
			for _, d := range directions {
				passed := flow(after, d).Forwarded - flow(before, d).Forwarded
				if frozen.has(d) && passed != 0 {
					t.Errorf("%d bytes passed %s through a frozen link", passed, d)
				}
			}

			heal(t, r.Control)
			for _, d := range directions {
				if _, to := ends(d, client, server); frozen.has(d) {
					receive(t, to, "late")
				}
			}
			works(t, client, server)
		})
	}
}

func TestThawOneDirection(t *testing.T) {
	r := newRig(t)
	client, server := r.pair(t)
	r.Freeze(Up)
	r.Freeze(Down) // adds
	send(t, client, "request")
	send(t, server, "event")
	must(t, r.WaitHeld(patient(t), Up))
	must(t, r.WaitHeld(patient(t), Down))

	r.Thaw(Up)
	receive(t, server, "request")
	if held := r.Held(Down); held != 5 {
		t.Errorf("Held(Down) = %d after Thaw(Up), want 5", held)
	}
	r.Thaw(Down)
	receive(t, client, "event")
}

// The server must not hear of a client that is frozen off, and serve it when it
// is not any longer.
func TestFreezeNewConnection(t *testing.T) {
	r := newRig(t)
	r.Freeze(Both)
	client := dial(t, r.Addr())
	send(t, client, "hello")
	must(t, r.WaitHeld(patient(t), Up))
	if n := len(r.server.conns); n != 0 {
		t.Fatalf("%d connections reached the server", n)
	}
	heal(t, r.Control)
	server := r.server.accepted(t)
	receive(t, server, "hello")
	works(t, client, server)
}

func TestFreezeDownNewConnection(t *testing.T) {
	r := newRig(t)
	r.Freeze(Down)
	client, server := r.pair(t)
	send(t, client, "request")
	receive(t, server, "request")
	send(t, server, "reply")
	must(t, r.WaitHeld(patient(t), Down))
	heal(t, r.Control)
	receive(t, client, "reply")
}

// The schedule that Freeze is for: the caller gives up, and then its request
// lands.
func TestRequestLandsAfterCallerClosed(t *testing.T) {
	r := newRig(t)
	client, server := r.pair(t)
	r.Freeze(Both)
	send(t, client, "create")
	must(t, client.Close())
	must(t, r.Wait(patient(t), func(s Stats) bool { return s.Open == 0 && s.Conns == 1 && s.Up.Held == 6 }))
	heal(t, r.Control)
	receive(t, server, "create")
	receiveEOF(t, server)
	must(t, server.Close())
	must(t, r.WaitConns(patient(t), 0))
}

func TestRequestLandsBeforeCallersReset(t *testing.T) {
	r := newRig(t)
	client, server := r.pair(t)
	r.Freeze(Up)
	send(t, client, "create")
	must(t, r.WaitHeld(patient(t), Up))
	reset(client)
	must(t, r.Wait(patient(t), func(s Stats) bool { return s.Open == 0 }))
	heal(t, r.Control)
	// What the server's system does with unread bytes when a reset follows them
	// is its affair; they were delivered, and the reset is.
	must(t, r.WaitConns(patient(t), 0))
	if s := r.Stats(); s.Up.Forwarded != 6 {
		t.Errorf("forwarded %d bytes, want 6", s.Up.Forwarded)
	}
	if _, err := io.ReadAll(server); err == nil {
		t.Error("the reset came through as an orderly end")
	}
}

func TestFreezeHoldsEndOfStream(t *testing.T) {
	r := newRig(t)
	client, server := r.pair(t)
	r.Freeze(Down)
	send(t, server, "last words")
	must(t, server.CloseWrite())
	must(t, r.WaitHeld(patient(t), Down))
	send(t, client, "request")
	receive(t, server, "request")
	heal(t, r.Control)
	receive(t, client, "last words")
	receiveEOF(t, client)
}

// The death of a frozen server is not noticed until the thaw, not even by
// writing to it.
func TestFreezeHoldsReset(t *testing.T) {
	r := newRig(t)
	client, server := r.pair(t)
	works(t, client, server)
	r.Freeze(Down)
	reset(server)
	for r.Stats().Up.Dropped == 0 {
		before := r.Stats().Up.Received
		send(t, client, "anybody there?")
		must(t, r.Wait(patient(t), func(s Stats) bool { return s.Up.Received > before && s.Up.Held == 0 }))
	}
	if n := r.Conns(); n != 1 {
		t.Errorf("Conns() = %d: the client cannot know of the end", n)
	}
	heal(t, r.Control)
	receiveReset(t, client)
}

// A sender on a frozen link has to be stopped by backpressure, and Close has to
// get rid of it.
func TestCloseWhileFrozenWithBlockedWriters(t *testing.T) {
	r := newRig(t)
	client, server := r.pair(t)
	r.Freeze(Both)
	blocked := make(chan error, 2)
	for _, d := range directions {
		from, _ := ends(d, client, server)
		go func() {
			_, err := io.Copy(from, zeros{})
			blocked <- err
		}()
	}
	must(t, r.Wait(patient(t), func(s Stats) bool { return s.Up.Held >= window && s.Down.Held >= window }))
	if s := r.Stats(); max(s.Up.Held, s.Down.Held) >= window+chunkSize {
		t.Errorf("the proxy holds more than its bound: %+v", s)
	}
	closeAll(t, r.Control)
	for range directions {
		if err := <-blocked; err == nil {
			t.Error("a writer ended without an error")
		}
	}
}

// A freeze must not wait for a receiver who does not read, and what is not on
// the wire when Freeze returns must not get there.
func TestFreezeInterruptsBlockedWrite(t *testing.T) {
	for _, d := range directions {
		t.Run(d.String(), func(t *testing.T) {
			r := newRig(t)
			client, server := r.pair(t)
			from, to := ends(d, client, server)
			sent := make(chan error, 1)
			const size = 32 << 20
			go func() {
				_, err := io.CopyN(from, newNoise(1), size)
				sent <- err
			}()
			must(t, r.Wait(patient(t), func(s Stats) bool { return flow(s, d).Held >= window }))
			r.Freeze(d)
			onWire := flow(r.Stats(), d).Forwarded

			got := newNoise(1)
			got.verify(t, io.LimitReader(to, onWire), onWire)
			if now := flow(r.Stats(), d).Forwarded; now != onWire {
				t.Errorf("%d bytes passed after Freeze had returned", now-onWire)
			}
			heal(t, r.Control)
			got.verify(t, io.LimitReader(to, size-onWire), size-onWire)
			must(t, <-sent)
		})
	}
}
