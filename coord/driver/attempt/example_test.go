package attempt_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
)

// A connection breaks while a write is under way: it may have had its effect.
func Example() {
	life, end := context.WithCancelCause(context.Background())
	defer end(nil)

	o := attempt.Op{Store: "toy", Name: "create", Key: "a/1", Write: true, Limit: 5 * time.Second}
	err := o.Do(context.Background(), life, func(ctx context.Context) error {
		return io.ErrUnexpectedEOF // what the network said
	})
	fmt.Println(err)
	fmt.Println(errors.Is(err, driver.ErrUncertain))
	// Output:
	// toy: create a/1: outcome unknown: unexpected EOF
	// true
}
