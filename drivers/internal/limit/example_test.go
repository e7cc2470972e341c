package limit_test

import (
	"fmt"
	"time"

	"github.com/coordkit/coordkit/drivers/internal/limit"
)

func Example() {
	var limits limit.Group
	defer limits.Close()
	exceeded := make(chan struct{})
	request := limits.Begin(time.Millisecond, func() { close(exceeded) })
	defer request.End()
	<-exceeded
	fmt.Println("took too long")
	// Output: took too long
}
