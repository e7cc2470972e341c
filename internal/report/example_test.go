package report_test

import (
	"testing"

	"github.com/coordkit/coordkit/internal/report"
)

func Example() {
	_ = func(t *testing.T) {
		report.Show(t, "margin of 50 trials", "minimum 180 ms, median 620 ms")
	}
	// Output:
}
