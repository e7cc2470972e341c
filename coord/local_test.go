package coord_test

import (
	"sync"
	"testing"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
)

// Everybody who asks for a key gets the same, and each client has its own.
func TestLocalOfAClient(t *testing.T) {
	type key struct{ name string }
	made := func() any { return new(int) }
	get := func() (*coord.Client, any) {
		c, err := coord.New(mem.NewStore().Open("test"), coord.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(t.Context()) })
		return c, c.Local(key{"a"}, made)
	}
	a, first := get()
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if a.Local(key{"a"}, made) != first {
				t.Error("made again")
			}
		})
	}
	all.Wait()
	if a.Local(key{"b"}, made) == first {
		t.Error("another key gives the same")
	}
	if _, second := get(); second == first {
		t.Error("another client gives the same")
	}
}
