// Command buildservers builds or installs the store servers that the tests run,
// so that the first test need not, and prints which these are. What is there
// already is left. It also removes the directories that killed test programs have
// left.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"text/tabwriter"
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
	all, err := testserver.Releases(ctx, os.Stderr)
	if err != nil {
		return err
	}
	if err := show(os.Stdout, all); err != nil {
		return err
	}
	return testserver.Sweep()
}

// show tells what is run, and where that is not what the tests were written with.
func show(w io.Writer, all []testserver.Release) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "servers that the tests run") // errors are kept for Flush
	for _, r := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\n", r.Server, r.Version, r.Path)
	}
	for _, r := range all {
		for _, what := range r.Instead {
			fmt.Fprintf(t, "NOT AS RECORDED: %s\n", what)
		}
	}
	return t.Flush()
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
