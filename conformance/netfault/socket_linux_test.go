package netfault

import (
	"errors"
	"syscall"
	"testing"
)

// On Linux Cut promises the one failure that proves nothing was sent.
func TestCutRefusesConnections(t *testing.T) {
	r := newRig(t)
	for range 3 {
		r.Cut()
		conn, err := dialOn(r.Addr())
		if err == nil {
			_ = conn.Close()
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			t.Fatalf("connecting to a cut proxy: %v, want connection refused", err)
		}
		heal(t, r.Control)
		client, server := r.pair(t)
		works(t, client, server)
	}
}

// What was accepted before a Cut does not outlive it by being admitted late,
// when Heal has been called as well.
func TestCutTakesWhatWasAcceptedBefore(t *testing.T) {
	r := newRig(t)
	before := r.listener
	r.Cut()
	heal(t, r.Control)
	client := dial(t, r.server.addr())
	r.admit(before, r.server.accepted(t))
	receiveReset(t, client)
}

// The fallback of systems that cannot keep a port: accept, and reset.
func TestCutWithoutAPortToKeep(t *testing.T) {
	r := newRig(t)
	r.hub.Lock()
	must(t, r.port.Close())
	r.port = nil
	r.hub.Unlock()

	r.Cut()
	resetAtOnce(t, r.Addr())
	heal(t, r.Control)
	client, server := r.pair(t)
	works(t, client, server)
}
