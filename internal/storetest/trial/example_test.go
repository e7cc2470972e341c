package trial_test

import (
	"context"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/storetest/trial"
)

// Ten locks go through a frozen link.
func Example() {
	ctx := context.Background()
	const ttl = 500 * time.Millisecond
	store := mem.NewStore()
	open := func(conn *mem.Conn, ttl time.Duration) *coord.Client {
		c, err := coord.New(conn, coord.Config{SessionTTL: coord.Duration(ttl)})
		if err != nil {
			panic(err)
		}
		return c
	}
	conn := store.Open("trial")
	holder := open(conn, ttl)
	next, after := open(store.Open("trial"), time.Minute), open(store.Open("trial"), time.Minute)
	result, err := trial.Run(ctx, trial.Fault{
		Store: "mem", Name: "link frozen",
		Holder: trial.InProcess(holder), Next: next, After: after,
		Cut:  func(context.Context, trial.Scene) error { conn.Link().Freeze(mem.Both); return nil },
		Heal: func(context.Context) error { return conn.Link().Heal() },
	}, trial.Options{Trials: 10, Sessions: 2, TTL: ttl, Patience: 10 * time.Second, Seed: 1})
	if err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%d trials, %d overlaps, %d entries left, %d calls unresolved\n",
		result.Trials, result.Overlaps, result.Left, result.Unresolved)
	for _, c := range []*coord.Client{holder, next, after} {
		if err := c.Close(ctx); err != nil {
			fmt.Println(err)
		}
	}
	// Output: 10 trials, 0 overlaps, 0 entries left, 0 calls unresolved
}
