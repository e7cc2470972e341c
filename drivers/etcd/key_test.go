package etcd

import (
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

func TestOnlyKeysOfTheDriversMakingAreNodes(t *testing.T) {
	const lease = 0x7ad0000000000bcd
	k := keyspace("ns")
	tests := []struct {
		key   string
		lease int64
		want  bool
	}{
		{"ns/d/7ad0000000000bcd-0", lease, true},
		{"ns/d/7ad0000000000bcd-Slot12", lease, true},
		{"ns/d/7ad0000000000bcd-0", lease + 1, false}, // bound to another lease
		{"ns/d/7ad0000000000bcd-0", 0, false},         // or to none
		{"ns/d/7AD0000000000BCD-0", lease, false},     // not as formatLease writes it
		{"ns/d/ad0000000000bcd-0", 0xad0000000000bcd, false},
		{"ns/d/fad0000000000bcd-0", -0x52ffffffffff433, false}, // leases are positive
		{"ns/d/0000000000000000-0", 0, false},
		{"ns/d/7ad0000000000bcd-", lease, false},
		{"ns/d/7ad0000000000bcd", lease, false},
		{"ns/d/7ad0000000000bcd-0.1", lease, true}, // of a later generation
		{"ns/d/7ad0000000000bcd-Slot12.305", lease, true},
		{"ns/d/7ad0000000000bcd-0.0", lease, false}, // not as keyOf writes it
		{"ns/d/7ad0000000000bcd-0.01", lease, false},
		{"ns/d/7ad0000000000bcd-0.-1", lease, false},
		{"ns/d/7ad0000000000bcd-0.+1", lease, false},
		{"ns/d/7ad0000000000bcd-0.x", lease, false},
		{"ns/d/7ad0000000000bcd-0.", lease, false},
		{"ns/d/7ad0000000000bcd-0.1.1", lease, false},
		{"ns/d/7ad0000000000bcd-.1", lease, false},
		{"ns/d/7ad0000000000bcd-0-1", lease, false},
		{"ns/d/7ad0000000000bcd-0/x", lease, false},
		{"ns/d/x/7ad0000000000bcd-0", lease, false},
		{"ns/d/", lease, false},
		{"ns/d/readme", lease, false},
		{"ns/e/7ad0000000000bcd-0", lease, false}, // another directory
	}
	for _, tt := range tests {
		n, got := k.asNode("d", &mvccpb.KeyValue{Key: []byte(tt.key), Lease: tt.lease, CreateRevision: 7}, 9)
		if got != tt.want {
			t.Errorf("%s bound to %x: node is %v; want %v", tt.key, tt.lease, got, tt.want)
		}
		first, _, _ := strings.Cut(tt.key, generationMark)
		if got && (k.node("d", lease, n.ID) != first || n.Key != tt.key || n.Session != formatLease(lease) || n.Seq != 7 || n.Token != 7 || n.Version != 9) {
			t.Errorf("%s became %+v", tt.key, n)
		}
	}
}

// Names of directories hold no slash, so none lies in the range of another,
// whatever they begin with.
func TestDirectoriesDoNotOverlap(t *testing.T) {
	k := keyspace("ns")
	dirs := []string{"a", "a.", "a-", "a%", "ab", "a:b", "a0", "a_"}
	for _, a := range dirs {
		for _, b := range dirs {
			if got := k.dir(a).contains(k.node(b, 1, "0")); got != (a == b) {
				t.Errorf("the range of %q holds the nodes of %q: %v", a, b, got)
			}
		}
		if k.dir(a).contains(k.fence(1)) {
			t.Errorf("the range of %q holds fences", a)
		}
	}
}
