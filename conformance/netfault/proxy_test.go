package netfault

import (
	"context"
	"errors"
	"net"
	"strings"
	"testing"
)

func TestForwardsAndCounts(t *testing.T) {
	r := newRig(t)
	client, server := r.pair(t)
	send(t, client, "request")
	receive(t, server, "request")
	send(t, server, "ok")
	receive(t, client, "ok")

	ctx := patient(t)
	want := Stats{
		Accepted: 1, Conns: 1, Open: 1,
		Up:   Flow{Received: 7, Forwarded: 7},
		Down: Flow{Received: 2, Forwarded: 2},
	}
	must(t, r.Wait(ctx, func(s Stats) bool {
		want.Up.Reads, want.Down.Reads = max(1, s.Up.Reads), max(1, s.Down.Reads) // bytes may be read one by one
		return s == want
	}))

	must(t, client.Close())
	receiveEOF(t, server)
	must(t, r.Wait(ctx, func(s Stats) bool { return s.Open == 0 && s.Conns == 1 }))
	must(t, server.Close())
	must(t, r.WaitConns(ctx, 0))
	if n := r.Conns(); n != 0 {
		t.Errorf("Conns() = %d after WaitConns(0)", n)
	}
}

func TestHalfClose(t *testing.T) {
	for _, d := range directions {
		t.Run(d.String(), func(t *testing.T) {
			r := newRig(t)
			client, server := r.pair(t)
			first, second := ends(d, client, server)
			send(t, first, "that is all")
			must(t, first.CloseWrite())
			receive(t, second, "that is all")
			receiveEOF(t, second)
			// The other way still works, though nothing more comes this way.
			send(t, second, "noted")
			must(t, second.CloseWrite())
			receive(t, first, "noted")
			receiveEOF(t, first)
			must(t, r.WaitConns(patient(t), 0))
		})
	}
}

func TestResetIsPassedOn(t *testing.T) {
	for _, d := range directions {
		t.Run(d.String(), func(t *testing.T) {
			r := newRig(t)
			client, server := r.pair(t)
			works(t, client, server)
			from, to := ends(d, client, server)
			reset(from)
			receiveReset(t, to)
			must(t, r.WaitConns(patient(t), 0))
		})
	}
}

// A peer that closed altogether answers further bytes with a reset, which the
// sender has to hear even if its own stream, the other way, has ended.
func TestWritingToOneWhoIsGone(t *testing.T) {
	for _, d := range directions {
		t.Run(d.String(), func(t *testing.T) {
			r := newRig(t)
			client, server := r.pair(t)
			from, to := ends(d, client, server)
			must(t, to.Close())
			receiveEOF(t, from)
			for {
				if _, err := from.Write([]byte("anybody there?")); err != nil {
					break
				}
			}
			must(t, r.WaitConns(patient(t), 0))
		})
	}
}

func TestUnreachableTarget(t *testing.T) {
	b := newBackend(t)
	must(t, b.Close())
	p := newProxy(t, b.addr())
	resetAtOnce(t, p.Addr())
	must(t, p.WaitConns(patient(t), 0))

	other := newBackend(t)
	must(t, p.SetTarget(other.addr()))
	client := dial(t, p.Addr())
	works(t, client, other.accepted(t))
}

func TestSetTarget(t *testing.T) {
	r := newRig(t)
	client, server := r.pair(t)
	other := newBackend(t)
	must(t, r.SetTarget(other.addr()))
	works(t, client, server) // stays where it is

	client2 := dial(t, r.Addr())
	works(t, client2, other.accepted(t))

	if err := r.SetTarget("nowhere"); err == nil {
		t.Error("SetTarget took a target without a port")
	}
	client3 := dial(t, r.Addr())
	works(t, client3, other.accepted(t))
}

func TestNewRejectsBadTarget(t *testing.T) {
	if p, err := newOn("nowhere"); err == nil {
		_ = p.Close()
		t.Fatal("New took a target without a port")
	} else if !strings.Contains(err.Error(), `"nowhere"`) {
		t.Errorf("the error does not name the target: %v", err)
	}
}

func TestWaitErrors(t *testing.T) {
	r := newRig(t)
	never := func(Stats) bool { return false }

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.Wait(ctx, never); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait with a canceled ctx: %v", err)
	}
	if err := r.WaitConns(ctx, 0); err != nil {
		t.Errorf("WaitConns for what is so already: %v", err)
	}

	waiting := make(chan error)
	go func() { waiting <- r.WaitHeld(patient(t), Both) }()
	must(t, r.Close())
	if err := <-waiting; !errors.Is(err, net.ErrClosed) {
		t.Errorf("WaitHeld on a closed proxy: %v", err)
	}
	must(t, r.WaitConns(patient(t), 0))
}

func TestDirectionString(t *testing.T) {
	for d, want := range map[Direction]string{Up: "up", Down: "down", Both: "both", 0: "Direction(0)"} {
		if got := d.String(); got != want {
			t.Errorf("%d.String() = %q, want %q", uint8(d), got, want)
		}
	}
}
