package zk

import (
	"fmt"
	"math"
	"testing"
)

func TestNames(t *testing.T) {
	for _, id := range []int64{1, 0x100003d4f5a0000, math.MaxInt64, -1, math.MinInt64} {
		for _, sequence := range []int32{0, 1, math.MaxInt32, math.MinInt32, -1} {
			// As a server makes it, in Java: String.format("%010d", sequence).
			s := slotPrefix(formatSession(id), "w12") + "77-" + fmt.Sprintf("%010d", sequence)
			n, ok := parseName(s)
			if !ok || n.owner != id || n.session != formatSession(id) || n.id != "w12" || n.sequence != sequence {
				t.Errorf("%s is taken for %+v, %v", s, n, ok)
			}
		}
	}
}

func TestNotNames(t *testing.T) {
	for _, s := range []string{
		"", "-", "0", "readme", "lock-0000000001", "_c_x", "_c_b7c0d5e2-lock-0000000001",
		"0123456789abcdef-0-1", "0123456789abcdef-0-1-", "0123456789abcdef-0-0000000001",
		"0123456789ABCDEF-0-1-0000000001", "123456789abcdef-0-1-0000000001", "0000000000000000-0-1-0000000001",
		"0123456789abcdef--1-0000000001", "0123456789abcdef-a_b-1-0000000001", "0123456789abcdef-0-01-0000000001",
		"0123456789abcdef-0--1-0000000001", "0123456789abcdef-0-1-1", "0123456789abcdef-0-1-2147483648",
		"0123456789abcdef-0-1--000000000", "0123456789abcdef-0-1--0000000001", "0123456789abcdef-0-1-00000000001",
		"0123456789abcdef-0-1-000000001:", "0123456789abcdef-0-1-000000001", "0123456789abcdef-0-+1-0000000001",
		"0123456789abcdef-0-1-+000000001", "0123456789abcdef-0-1--2147483649", "0123456789abcdef-0-1-0000000001x",
	} {
		if n, ok := parseName(s); ok {
			t.Errorf("%q is taken for a node's name: %+v", s, n)
		}
	}
}

// Numbers rise from node to node, also when the directory is made again, and
// whatever a server does at the end of the sequence.
func TestNumbers(t *testing.T) {
	var last uint64
	rises := func(what string, n uint64) {
		t.Helper()
		if n <= last {
			t.Errorf("%s has number %d; before it was %d", what, n, last)
		}
		last = n
	}
	zxid := int64(5) << 32
	for incarnation := range 3 {
		zxid++
		parent := zxid
		for sequence := range int32(10) {
			zxid++ // the creation; others may have taken more
			n, ok := number(parent, sequence)
			if !ok || n > uint64(zxid) {
				t.Fatalf("the node made at %d got the number %d, %v", zxid, n, ok)
			}
			rises(fmt.Sprintf("child %d of directory %d", sequence, incarnation), n)
		}
		zxid += 11 // the deletions
	}
	for _, sequence := range []int32{exhausted, math.MaxInt32, math.MinInt32, -1} {
		if n, ok := number(zxid, sequence); ok {
			t.Errorf("sequence %d is relied upon for %d", sequence, n)
		}
	}
	// The last that counts is below the czxid of whatever comes then.
	parent := zxid
	n, _ := number(parent, exhausted-1)
	rises("the last child that is numbered", n)
	rises("the next, by its czxid", uint64(parent)+1+exhausted)
}

func TestCut(t *testing.T) {
	for path, want := range map[string][2]string{"/a/b": {"/a", "b"}, "/a": {"", "a"}, "a": {"", "a"}, "": {"", ""}} {
		if dir, base := cut(path); dir != want[0] || base != want[1] {
			t.Errorf("%q is cut into %q and %q", path, dir, base)
		}
	}
}
