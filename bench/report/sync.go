package report

import (
	"os"
	"syscall"
	"time"

	"github.com/coordkit/coordkit/bench/stats"
)

// syncTime is the median of what it takes to write a little through to the disk,
// in microseconds; 0 if it cannot be told.
func syncTime() float64 {
	f, err := os.CreateTemp("", "coordkit-sync-*")
	if err != nil {
		return 0
	}
	defer os.Remove(f.Name())
	defer f.Close()
	var took []time.Duration
	for range 200 {
		if _, err := f.Write(make([]byte, 512)); err != nil {
			return 0
		}
		start := time.Now()
		if err := syscall.Fdatasync(int(f.Fd())); err != nil {
			return 0
		}
		took = append(took, time.Since(start))
	}
	return micros(stats.Quantile(took, 0.5))
}
