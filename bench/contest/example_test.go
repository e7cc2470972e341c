package contest_test

import (
	"fmt"

	"github.com/coordkit/coordkit/bench/contest"
)

func Example() {
	s := contest.Sample{Ops: 3000, Seconds: 2}
	fmt.Println(s.Rate(), "a second")
	// Output: 1500 a second
}

func ExampleDial_Of() {
	d := contest.Dial{Servers: []string{"a", "b", "c"}}
	fmt.Println(d.Of(0).Servers, d.Of(4).Servers, d.Servers)
	// Output: [a b c] [b c a] [a b c]
}

func ExampleSide_Has() {
	s := contest.Side{Name: "a lock", Kinds: []contest.Kind{contest.Locks}}
	fmt.Println(s.Has(contest.Locks), s.Has(contest.Permits))
	// Output: true false
}
