package semaphore

import (
	"fmt"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
)

// What the rule needs of an entry is in its name, whatever somebody has written
// into it; and where it is not, in its data.
func TestTermsOfANode(t *testing.T) {
	for _, c := range []struct {
		id, value string
		want      terms
		named, ok bool
	}{
		{"p3x20x0", "3/20@25", terms{3, 20, 20}, true, true},
		{"p3x20x0", "", terms{3, 20, 20}, true, true},
		{"p3x20x7", "5/10@10", terms{3, 20, 20}, true, true},
		{"p0", "3/20@25", terms{3, 20, 25}, false, true},
		{"p0", "let go", terms{}, false, false},
		{"p0", "", terms{}, false, false},

		// What is of nobody's making says nothing by its name.
		{"p3x0", "3/20@25", terms{3, 20, 25}, false, true},
		{"p3x20x5x0", "", terms{}, false, false},
		{"p0x20x0", "", terms{}, false, false},
		{"p3x0x0", "", terms{}, false, false},
		{"p3y20x0", "", terms{}, false, false},
		{"p9999999999x2x0", "", terms{}, false, false},
		{"g3", "", terms{}, false, false},
	} {
		n := driver.Node{ID: c.id, Data: []byte("{}\n" + c.value)}
		_, named := namedTerms(n)
		if got, ok := termsOf(n); got != c.want && ok || ok != c.ok || named != c.named {
			t.Errorf("%s with %q: %+v, %t, by its name %t; want %+v, %t, %t", c.id, c.value, got, ok, named, c.want, c.ok, c.named)
		}
	}
}

// Names are few: who wants many permits has the same one each time.
func TestNamedTerms(t *testing.T) {
	for _, c := range []struct {
		terms
		want string
	}{
		{terms{1, 1, 1}, "1x1x"},
		{terms{3, 20, 500}, "3x20x"},
		{terms{99, MaxLimit, 7}, fmt.Sprintf("99x%dx", MaxLimit)},
		{terms{100, 100, 100}, ""},
		{terms{MaxLimit, MaxLimit, MaxLimit}, ""},
	} {
		if got := c.named(); got != c.want {
			t.Errorf("%v: %q; want %q", c.terms, got, c.want)
		}
	}
}

// Names suffice if they say all that the rule needs, and all say the same limit.
func TestNamesSuffice(t *testing.T) {
	for _, c := range []struct {
		ids  []string
		want bool
	}{
		{nil, true},
		{[]string{"p1x5x0", "p2x5x0", "g0", "p5x5x3"}, true},
		{[]string{"g0"}, true},
		{[]string{"p1x5x0", "l0"}, false},
		{[]string{"p1x5x0", "p0"}, false},
		{[]string{"p1x5x0", "p1x6x0"}, false},
		{[]string{"0"}, false},
	} {
		var line []driver.Node
		for _, id := range c.ids {
			line = append(line, driver.Node{ID: id})
		}
		if got := namesSuffice(line); got != c.want {
			t.Errorf("%v: %t", c.ids, got)
		}
	}
}
