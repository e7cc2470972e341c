package random_test

import (
	"context"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/conformance/harness"
	"github.com/coordkit/coordkit/conformance/internal/model"
	"github.com/coordkit/coordkit/conformance/internal/random"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// A session makes a node and lists it while an observer looks, too.
func Example() {
	store := mem.NewStore()
	on := random.Store{
		Harness: harness.Harness{
			TTL: time.Minute, Expiry: time.Minute,
			Open: func(_ context.Context, namespace string) (driver.Conn, error) { return store.Open(namespace), nil },
		},
		Namespace: "example",
		Lag:       func(time.Time) time.Duration { return 0 },
	}
	p := random.Program{
		Links: []bool{false, false}, // an observer's connection and another
		Dirs:  []string{""},
		Waves: [][]random.Step{
			{{ID: 1, Op: model.OpenSession, Conn: 1, Session: 0}},
			{{ID: 2, Op: model.Create, Conn: 1, Session: 0, Slot: "a"}},
			{{ID: 3, Op: model.List, Conn: 1, Session: 0}, {ID: 4, Op: model.ConnList, Session: -1}},
		},
	}
	h, err := random.Run(context.Background(), on, p, "q")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range h.Calls[:4] {
		fmt.Println(c.Name, c.Op, len(c.List), c.Err)
	}
	fmt.Println("broken:", model.Judge(h))
	// Unordered output:
	// #1 OpenSession 0 <nil>
	// #2 Create 0 <nil>
	// #3 List 1 <nil>
	// #4 Conn.List 1 <nil>
	// broken: []
}
