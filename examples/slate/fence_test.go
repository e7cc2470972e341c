package slate

import "testing"

func TestFence(t *testing.T) {
	var f fence
	want := func(what string, stood uint64, doubt bool) {
		t.Helper()
		if s, d := f.position(); s != stood || d != doubt {
			t.Errorf("%s: stands at %d, in doubt: %v; want %d, %v", what, s, d, stood, doubt)
		}
	}
	want("at the beginning", 0, false)
	f.pending(0)
	want("a request of unknown outcome", 0, true)
	f.saw(0, 7)
	want("moved", 7, false)
	f.pending(0)
	want("one from before the move", 7, false)
	f.saw(7, 9)
	f.saw(7, 7)
	want("an older reply", 9, false)
	f.pending(9)
	f.saw(0, 0)
	want("a reply from before there was one", 9, true)
	f.saw(9, 12)
	want("moved again", 12, false)
	f.saw(12, 0)
	want("deleted by somebody", 0, true)
	f.saw(0, 15)
	want("made again", 15, false)
	f.pending(15)
	f.saw(12, 0)
	want("a late reply: another call has made it again", 0, true)
	f.saw(0, 15)
	want("where it stands", 15, true)
	f.saw(15, 18)
	want("moved on", 18, false)
}
