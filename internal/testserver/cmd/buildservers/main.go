// Command buildservers builds the store servers that the tests run, so that the
// first test need not, and prints their paths. What is built already is left.
// It also removes the directories that killed test programs have left.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/coordkit/coordkit/internal/testserver"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "buildservers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	path, err := testserver.EtcdBinary(ctx, os.Stderr)
	if err != nil {
		return err
	}
	fmt.Println(path)
	return testserver.Sweep()
}
