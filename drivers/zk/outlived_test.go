package zk

import (
	"encoding/binary"
	"testing"
)

// Servers that were set back turn a link away that has seen a later state, and never
// say why. Whoever only looks gets another.
func TestObserverOfServersThatWereSetBack(t *testing.T) {
	t.Parallel()
	f := start(t)
	other := f.peer()
	watch := f.watch(within(t), "d")
	watch.wantNext()
	l := f.anyLinkOf(t)
	l.seen.Store(1 << 62)
	l.current().drop("of a test")
	s := other.open(long)
	n, err := s.Create(within(t), "d", "0", []byte("v"))
	must(t, err)
	watch.wantNext("v")
	nodes, err := f.List(within(t), "d")
	must(t, err)
	if len(nodes) != 1 || !nodes[0].Same(n) {
		t.Errorf("listed %+v; want %+v", nodes, n)
	}
}

// Whatever a part of a transaction was refused for, all of it was.
func TestPartThatWasRefused(t *testing.T) {
	for _, code := range []int32{-125, -127, -101, -9999} {
		body := []byte(nil)
		part := func(kind int32, done byte, code int32) {
			body = append(binary.BigEndian.AppendUint32(body, uint32(kind)), done)
			body = binary.BigEndian.AppendUint32(body, uint32(code))
			if done == 0 {
				body = binary.BigEndian.AppendUint32(body, uint32(code))
			}
		}
		part(opError, 0, 0)
		part(opError, 0, code)
		part(opError, 0, -2)
		part(-1, 1, -1)
		if _, err := readResults(answer{body: body}, 3); !isRefusal(err) {
			t.Errorf("code %d: %v; want a refusal", code, err)
		}
	}
}
