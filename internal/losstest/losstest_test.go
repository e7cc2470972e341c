package losstest_test

import (
	"context"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/losstest"
)

const ttl = 500 * time.Millisecond

func TestMem(t *testing.T) {
	var all []losstest.Margins
	for _, d := range []mem.Direction{mem.Up, mem.Down, mem.Both} {
		store := mem.NewStore()
		holder, next := store.Open("loss"), store.Open("loss")
		all = append(all, losstest.Run(t, losstest.Cut{
			Name:   map[mem.Direction]string{mem.Up: "frozen up", mem.Down: "frozen down", mem.Both: "frozen both ways"}[d],
			Holder: client(t, holder),
			Next:   client(t, next),
			Cut:    func() error { holder.Link().Freeze(d); return nil },
			Heal:   holder.Link().Heal,
		}, 20, time.Minute))
	}
	losstest.Show(t, "mem: margins", all)
}

func client(t *testing.T, conn *mem.Conn) *coord.Client {
	t.Helper()
	c, err := coord.New(conn, coord.Config{SessionTTL: coord.Duration(ttl)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

func Example() {
	_ = func(t *testing.T, holder, next *coord.Client, freeze, heal func() error) {
		m := losstest.Run(t, losstest.Cut{Name: "frozen", Holder: holder, Next: next, Cut: freeze, Heal: heal}, 10, time.Minute)
		losstest.Show(t, "margins", []losstest.Margins{m})
	}
	// Output:
}
