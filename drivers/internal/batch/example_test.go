package batch_test

import (
	"context"
	"fmt"

	"github.com/coordkit/coordkit/drivers/internal/batch"
)

func Example() {
	g := &batch.Group[string]{Limit: 8, Most: 16,
		Fits: func([]string, string) bool { return true },
		Send: func(all []string) { fmt.Println("together:", all) },
	}
	defer g.Close()
	g.Do(context.Background(), "a", func() { fmt.Println("alone: a") })
	// Output: alone: a
}
