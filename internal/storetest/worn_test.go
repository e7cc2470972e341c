package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/coordkit/coordkit/internal/report"
	"github.com/coordkit/coordkit/internal/testserver"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// Consul keeps what was deleted for a quarter of an hour, as a tombstone that
// each list under its prefix has to pass. A lock that was used ten thousand times
// is as quick as a new one all the same.
func TestWornLockOnConsul(t *testing.T) {
	s := startConsul(t, testserver.ConsulOptions{})
	m := mutex.New(s.dialAll(t, 1)[0], "worn")
	const cycles, sample = 10_000, 1_000
	took := make([]time.Duration, cycles)
	for i := range took {
		start := time.Now()
		held, err := m.Lock(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := held.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
		took[i] = time.Since(start)
	}
	first, last := took[:sample], took[cycles-sample:]
	slices.Sort(first)
	slices.Sort(last)
	const median, p99 = sample / 2, sample * 99 / 100
	if last[median] > 3*first[median] { // names that stay make it many times; a busy machine, some
		t.Errorf("the last %d cycles took %v each, the first %v", sample, last[median], first[median])
	}
	report.Show(t, fmt.Sprintf("consul: %d cycles of acquire and release of one lock", cycles),
		fmt.Sprintf("median of the first %d: %v, of the last: %v (%.2f times); 99 of 100 within %v and %v",
			sample, first[median], last[median], float64(last[median])/float64(first[median]), first[p99], last[p99]))
}
