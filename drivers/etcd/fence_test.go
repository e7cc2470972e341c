package etcd

import "testing"

func wantPosition(t *testing.T, f *fence, stood int64, move bool) {
	t.Helper()
	if gotStood, gotMove := f.position(); gotStood != stood || gotMove != move {
		t.Errorf("the fence stands at %d, to be moved: %v; want %d, %v", gotStood, gotMove, stood, move)
	}
}

func TestFence(t *testing.T) {
	f := newFence()
	wantPosition(t, f, 0, false)

	f.pending(0) // an Abandon whose reply was lost asks for position 0
	wantPosition(t, f, 0, true)
	f.saw(5) // moved: that Abandon can do nothing any more
	wantPosition(t, f, 5, false)
	f.saw(3) // a reply that was overtaken
	wantPosition(t, f, 5, false)

	f.pending(5)
	wantPosition(t, f, 5, true)
	f.saw(8)
	wantPosition(t, f, 8, false)

	f.pending(8)
	f.saw(0) // somebody has deleted the key: requests that ask for 0 would be let in
	wantPosition(t, f, 0, true)
	f.saw(12)
	wantPosition(t, f, 12, false)

	f.pending(12)
	f.saw(0) // a late reply: it is deleted, another call has made it again, at 12
	wantPosition(t, f, 0, true)
	f.saw(12)
	wantPosition(t, f, 12, true)
	f.saw(15)
	wantPosition(t, f, 15, false)

	f.wentBack(12, 8) // of a request from before the last move
	wantPosition(t, f, 15, false)
	f.pending(15)
	f.wentBack(15, 8) // the store was restored
	wantPosition(t, f, 8, true)
	f.raised(9)
	wantPosition(t, f, 9, false)
	f.pending(15) // a reply to a request of before that was given up
	wantPosition(t, f, 9, true)
	f.raised(10)
	wantPosition(t, f, 10, false)

	f.pending(15)
	f.saw(0) // in the backup there was no fence yet
	f.raised(3)
	wantPosition(t, f, 3, false)
	f.saw(7)
	f.pending(7)
	f.raised(5) // overtaken
	wantPosition(t, f, 7, true)

	f.saw(9) // where another call has moved it, whose own reply is late
	f.pending(9)
	f.raised(9)
	wantPosition(t, f, 9, true)
}
