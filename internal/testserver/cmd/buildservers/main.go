// Command buildservers builds or installs the store servers that the tests run,
// so that the first test need not, and prints their paths. What is there already
// is left. It also removes the directories that killed test programs have left.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

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
	defer signOfLife()()
	for _, get := range []func(context.Context, io.Writer) (string, error){
		testserver.EtcdBinary, testserver.ZooKeeperJars, testserver.ConsulBinary,
	} {
		path, err := get(ctx, os.Stderr)
		if err != nil {
			return err
		}
		fmt.Println(path)
	}
	return testserver.Sweep()
}

// signOfLife says every half minute that the program is at work, as compilers
// are silent. It ends when the function it returns is called.
func signOfLife() (end func()) {
	started := time.Now()
	ticker := time.NewTicker(30 * time.Second)
	done := make(chan struct{})
	go func() {
		for {
			// If both are ready, one more word does no harm.
			select {
			case <-ticker.C:
				fmt.Fprintf(os.Stderr, "still at work after %v\n", time.Since(started).Round(time.Second))
			case <-done:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(done)
	}
}
