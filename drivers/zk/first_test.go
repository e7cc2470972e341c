package zk

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
)

func TestLeads(t *testing.T) {
	const session = "0123456789abcdef-"
	named := func(slot int, sequence int32) string {
		return session + fmt.Sprintf("%d-7-%010d", slot, sequence)
	}
	own := named(0, 100)
	foreign := session + "9-9-0000000001"
	for _, c := range []struct {
		what  string
		own   string
		names []string
		want  bool
	}{
		{"alone", own, []string{own}, true},
		{"not there", own, nil, false},
		{"not there, others behind", own, []string{named(1, 101)}, false},
		{"others behind", own, []string{named(1, 101), own, named(2, 1000)}, true},
		{"one ahead", own, []string{named(1, 101), own, named(2, 99)}, false},
		{"one ahead, listed before", own, []string{named(2, 99), own}, false},
		{"notes", own, []string{"readme", "lock-0000000001", own, "", "0000000001"}, true},
		{"a note that passes for a node", own, []string{own, session + "8-9-0000000001"}, false},
		{"one that is known", own, []string{own, foreign}, true},
		{"the same number", own, []string{own, named(3, 100)}, false},
		{"behind the wrap", own, []string{own, named(1, math.MinInt32)}, false},
		{"behind the wrap, ten digits", own, []string{own, named(1, -1234567890)}, true},
		{"its own number does not tell", named(0, exhausted), []string{named(0, exhausted)}, false},
		{"its own number is negative", named(0, -5), []string{named(0, -5)}, false},
	} {
		body := binary.BigEndian.AppendUint32(nil, uint32(len(c.names)))
		for _, n := range c.names {
			body = append(binary.BigEndian.AppendUint32(body, uint32(len(n))), n...)
		}
		stat := make([]byte, 68)
		known := func(name string) bool { return name == foreign }
		if got := leads(c.own, append(body, stat...), known); got != c.want {
			t.Errorf("%s: %v; want %v", c.what, got, c.want)
		}
		for cut := range body { // whatever it is cut to, it is no more than it was
			if leads(c.own, body[:cut], known) && !c.want {
				t.Errorf("%s: true of %d bytes of %d", c.what, cut, len(body))
			}
		}
	}
}
