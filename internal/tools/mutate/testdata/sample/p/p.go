// Package p is mutated by a test.
package p

import "errors"

var errFull = errors.New("full")

// Stack holds up to Most numbers.
type Stack struct {
	numbers []int
	Most    int
}

// Push puts numbers on top, or none of them.
func (s *Stack) Push(numbers ...int) error {
	if len(s.numbers)+len(numbers) > s.Most {
		return errFull
	}
	s.numbers = append(s.numbers, numbers...)
	return nil
}

// Sum adds up all numbers.
func (s *Stack) Sum() (sum int) {
	i := len(s.numbers)
	for i > 0 {
		sum += s.numbers[i-1]
		i--
	}
	return sum
}

// Empty is called by no rule.
func (s *Stack) Empty() bool { return s.numbers == nil }
