package driver_test

import (
	"context"
	"fmt"

	"github.com/coordkit/coordkit/coord/driver"
)

// A driver registers itself when its package is initialized. What a URL of its
// scheme may hold is checked before Open is called.
func Example() {
	var mux driver.Mux // driver.Register uses driver.DefaultMux
	mux.Register("paper", driver.Opener{
		Open: func(ctx context.Context, t driver.Target) (driver.Conn, error) {
			return nil, &driver.Error{Op: "open", Store: t.Scheme, Kind: driver.ErrUnavailable}
		},
		DefaultPort: "9000",
		Params:      []driver.Param{{Name: "ink", Doc: "the colour of the ink (default: blue)"}},
	})
	_, err := mux.Lookup("stone")
	fmt.Println(err)
	// Output:
	// invalid URL: no driver for scheme "stone"; registered are paper
}

func ExampleParseCaps() {
	caps, err := driver.ParseCaps("durable, shared")
	fmt.Println(caps, err, caps.Has(driver.CapShared))
	// Output:
	// shared,durable <nil> true
}
