package fence_test

import (
	"fmt"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/fence"
)

// The reply to a first request is lost. The second raises the floor, so the first does
// nothing when it arrives.
func Example() {
	floor := uint64(0) // in the store
	execute := func(r fence.Request) (found uint64) {
		if found = floor; found <= r.Number && r.Raise {
			floor = r.Number
		}
		return found
	}

	var f fence.Numbers // in the client's session
	var late fence.Request
	_ = f.Do(false, func(r fence.Request) (uint64, error) {
		late = r
		return 0, driver.ErrUncertain
	})
	_ = f.Do(false, func(r fence.Request) (uint64, error) {
		fmt.Printf("request %d raises the floor: %v\n", r.Number, r.Raise)
		return execute(r), nil
	})
	fmt.Printf("request %d is refused: %v\n", late.Number, execute(late) > late.Number)
	// Output:
	// request 2 raises the floor: true
	// request 1 is refused: true
}
