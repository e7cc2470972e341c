package lasting_test

import (
	"context"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/internal/lasting"
)

func Example() {
	program, end := context.WithCancel(context.Background())
	defer end()
	ctx := lasting.New(program)
	_, cancel := context.WithTimeout(ctx, time.Minute)
	fmt.Println(ctx.Waiting())
	cancel()
	fmt.Println(ctx.Waiting())
	// Output:
	// 1
	// 0
}
