package broken

import (
	"strconv"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
)

// brokenLarge are semaphores that are right for numbers of up to three digits.
func brokenLarge() []Recipe[Semaphore] {
	return []Recipe[Semaphore]{
		counting("three-digits", "P1", "Entries have three digits for the number of permits.",
			func(s subject.Counting) subject.Counting {
				want := s.Want
				s.Want = func(n int) subject.Want {
					if n > 999 {
						if few, err := strconv.Atoi(strconv.Itoa(n)[:3]); err == nil {
							n = few
						}
					}
					return want(n)
				}
				return s
			}),
		{"permits-as-text", "P1", "What is wanted is compared with the limit as text of three characters or more: 999 is more than 1500.",
			func(c *coord.Client, name string, limit int) subject.Counting {
				s := subject.Semaphore(c, name, limit)
				want := s.Want
				s.Want = func(n int) subject.Want {
					if limit > 999 && n < limit && strconv.Itoa(n) > strconv.Itoa(limit) {
						n = limit + 1
					}
					return want(n)
				}
				return s
			}},
	}
}
