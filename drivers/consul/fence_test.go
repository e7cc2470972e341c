package consul

import "testing"

func TestFence(t *testing.T) {
	var f fence
	a, b := slot{"d", "0"}, slot{"d", "1"}
	want := func(what string, of slot, stood uint64, move bool) {
		t.Helper()
		if s, m := f.position(of); s != stood || m != move {
			t.Errorf("%s: stands at %d, to be moved: %v; want %d, %v", what, s, m, stood, move)
		}
	}
	want("at the beginning", a, 0, false)
	f.doubt(a, 0)
	want("in doubt", a, 0, true)
	want("another slot", b, 0, false)
	f.saw(7)
	want("moved", a, 7, false)
	f.doubt(a, 0)
	want("a request from before the move", a, 7, false)
	f.doubt(b, 7)
	f.saw(5)
	want("an older reply", b, 7, true)
	f.saw(9)
	want("moved again", b, 9, false)
	f.saw(0)
	want("deleted by somebody", a, 0, true)
	want("deleted by somebody", b, 0, true)
	f.saw(0)
	want("seen so again", a, 0, true)
	f.saw(12)
	want("made again", a, 12, false)
	f.doubt(a, 12)
	f.saw(0)
	f.doubt(b, 12)
	want("a late reply: another call has made it again", a, 0, true)
	f.saw(12)
	want("where it stands", a, 12, true)
	want("where it stands", b, 12, true)
	f.saw(15)
	want("moved on", a, 15, false)
	want("moved on", b, 15, false)
}

// A store that was restored from a snapshot has the fence where it stood then.
func TestFenceGoesBack(t *testing.T) {
	var f fence
	a := slot{"d", "0"}
	f.saw(3)
	f.saw(9)
	f.wentBack(5, 3) // of a request from before the last move
	if stood, move := f.position(a); stood != 9 || move {
		t.Errorf("it stands at %d, to be moved: %v; want 9, and it stays", stood, move)
	}
	f.wentBack(9, 3)
	if stood, move := f.position(a); stood != 3 || !move {
		t.Errorf("it stands at %d, to be moved: %v; want 3, and it is to be moved", stood, move)
	}
	f.saw(12)
	if stood, move := f.position(a); stood != 12 || move {
		t.Errorf("it stands at %d, to be moved: %v; want 12, and it stays", stood, move)
	}
}

func TestMarksDiffer(t *testing.T) {
	if string(mark(0)) == string(mark(1)) || len(mark(0)) == 0 {
		t.Errorf("marks are %q and %q", mark(0), mark(1))
	}
}
