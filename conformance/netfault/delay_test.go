package netfault

import (
	"io"
	"testing"
	"time"
)

// forever is a delay that does not end within a test.
const forever = 24 * time.Hour

func TestDelayOneDirection(t *testing.T) {
	for _, d := range directions {
		t.Run(d.String(), func(t *testing.T) {
			r := newRig(t)
			client, server := r.pair(t)
			r.Delay(d, forever)
			from, to := ends(d, client, server)
			send(t, from, "first ")
			must(t, r.WaitHeld(patient(t), d))
			send(t, from, "second")
			must(t, r.Wait(patient(t), func(s Stats) bool { return flow(s, d).Held == 12 }))
			send(t, to, "other way")
			receive(t, from, "other way")

			r.Delay(d, 0) // applies to what is on its way
			receive(t, to, "first second")
			works(t, client, server)
		})
	}
}

func TestDelayIsAtLeastWhatItSays(t *testing.T) {
	const delay = 5 * time.Millisecond
	for _, d := range directions {
		t.Run(d.String(), func(t *testing.T) {
			r := newRig(t)
			client, server := r.pair(t)
			r.Delay(d, delay)
			from, to := ends(d, client, server)
			for range 3 {
				sent := time.Now()
				send(t, from, "slow")
				receive(t, to, "slow")
				if took := time.Since(sent); took < delay {
					t.Errorf("arrived after %v, want %v or more", took, delay)
				}
			}
			must(t, from.CloseWrite())
			receiveEOF(t, to)
		})
	}
}

// Many chunks are on their way at a time: the delay is not spent on each.
func TestDelayKeepsReading(t *testing.T) {
	r := newRig(t)
	client, server := r.pair(t)
	r.Delay(Up, forever)
	const size = window
	_, err := io.CopyN(client, newNoise(1), size)
	must(t, err)
	must(t, client.CloseWrite())
	must(t, r.Wait(patient(t), func(s Stats) bool { return s.Up.Held == size }))
	heal(t, r.Control)
	newNoise(1).verify(t, server, size)
}

func TestNegativeDelayIsNone(t *testing.T) {
	r := newRig(t)
	client, server := r.pair(t)
	r.Delay(Both, -forever)
	works(t, client, server)
}
