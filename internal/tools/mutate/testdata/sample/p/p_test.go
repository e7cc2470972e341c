package p_test

import (
	"testing"

	"example.test/sample/p"
)

// TestVirtual is the suite of a driver in a package of its own: it has no variants.
func TestVirtual(t *testing.T) {
	s := p.Stack{Most: 3}
	if err := s.Push(1, 2); err != nil || s.Sum() != 3 {
		t.Errorf("a sum is %d; error %v", s.Sum(), err)
	}
}
