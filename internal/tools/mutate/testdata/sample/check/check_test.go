package check_test

import (
	"fmt"
	"os"
	"testing"

	"example.test/sample/p"
)

// TestVirtual is in the form of a suite: each variant is a subtest, which exits with
// status 1 behind a line that begins with FAILED.
func TestVirtual(t *testing.T) {
	t.Run("sums", func(t *testing.T) {
		s := p.Stack{Most: 3}
		if err := s.Push(1, 2); err != nil || s.Sum() != 3 {
			fmt.Println("FAILED X1: a sum")
			os.Exit(1)
		}
	})
	t.Run("the rest", func(t *testing.T) {
		s := p.Stack{Most: 1}
		if s.Push(1, 2) == nil {
			fmt.Println("FAILED X2: it has more than it may have")
			os.Exit(1)
		}
	})
}
