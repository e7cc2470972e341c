package netfault

import (
	"bytes"
	"context"
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// zeros is an endless stream.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// noise is an endless stream in which no two places look alike.
type noise struct{ *rand.ChaCha8 }

func newNoise(seed byte) noise { return noise{rand.NewChaCha8([32]byte{seed})} }

// verify wants the next n bytes of the stream from r.
func (s noise) verify(t testing.TB, r io.Reader, n int64) {
	t.Helper()
	want, got := sha256.New(), sha256.New()
	m, err := io.Copy(got, r)
	if err != nil || m != n {
		t.Fatalf("received %d bytes, %v; want %d", m, err, n)
	}
	_, _ = io.CopyN(want, s, n)
	if !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
		t.Fatalf("%d bytes arrived, but not those that were sent", n)
	}
}

// Whatever is done to a link that loses nothing, both streams arrive whole.
func TestLargeTransfers(t *testing.T) {
	const size = 16 << 20
	steps := map[string]func(*Control){
		"undisturbed": func(*Control) {},
		"delayed": func(c *Control) {
			c.Delay(Both, time.Duration(rand.IntN(3))*time.Millisecond)
		},
		"frozen and thawed": func(c *Control) {
			d := Direction(1 + rand.IntN(3))
			c.Freeze(d)
			c.Thaw(Direction(1 + rand.IntN(3)))
		},
		"everything": func(c *Control) {
			c.Delay(Direction(1+rand.IntN(3)), time.Duration(rand.IntN(3))*time.Millisecond)
			c.Freeze(Direction(1 + rand.IntN(3)))
			_ = c.Heal()
		},
	}
	for name, step := range steps {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			client, server := r.pair(t)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var transfers, disturber sync.WaitGroup
			for i, conn := range []stream{client, server} {
				peer := []stream{server, client}[i]
				transfers.Go(func() {
					if _, err := io.CopyN(conn, newNoise(byte(i)), size); err != nil {
						t.Error(err)
					}
					if err := conn.CloseWrite(); err != nil {
						t.Error(err)
					}
				})
				transfers.Go(func() {
					got := sha256.New()
					n, err := io.Copy(got, peer)
					want := sha256.New()
					_, _ = io.CopyN(want, newNoise(byte(i)), size)
					if err != nil || n != size || !bytes.Equal(got.Sum(nil), want.Sum(nil)) {
						t.Errorf("received %d bytes, %v; want the %d that were sent", n, err, size)
					}
				})
			}
			disturber.Go(func() {
				for ctx.Err() == nil {
					step(r.Control)
					r.Thaw(Both)
					// The traffic itself paces the rounds.
					seen := r.Stats()
					_ = r.Wait(ctx, func(s Stats) bool {
						return s.Up.Received+s.Down.Received != seen.Up.Received+seen.Down.Received
					})
				}
			})
			transfers.Wait()
			cancel()
			disturber.Wait()
			heal(t, r.Control)
			must(t, r.WaitConns(patient(t), 0))
			if s := r.Stats(); s.Up.Forwarded != size || s.Down.Forwarded != size || s.Up.Dropped+s.Down.Dropped != 0 {
				t.Errorf("counters after %d bytes each way: %+v", size, s)
			}
		})
	}
}
