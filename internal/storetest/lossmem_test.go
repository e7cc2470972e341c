package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
)

const memTTL = 2 * time.Second

func TestLossOnMem(t *testing.T) {
	var cuts []fault
	for _, d := range []mem.Direction{mem.Up, mem.Down, mem.Both} {
		store := mem.NewStore()
		holder, next := store.Open("loss"), store.Open("loss")
		cuts = append(cuts, fault{
			name:   map[mem.Direction]string{mem.Up: "frozen up", mem.Down: "frozen down", mem.Both: "frozen both ways"}[d],
			holder: client(t, holder, memTTL),
			next:   client(t, next, patient),
			cut:    func() error { holder.Link().Freeze(d); return nil },
			heal:   holder.Link().Heal,
		})
	}
	showMargins(t, "mem: margins", tryLoss(t, 20, cuts...))
}

func client(t *testing.T, conn *mem.Conn, ttl time.Duration) *coord.Client {
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
