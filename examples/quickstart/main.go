// Quickstart shows a lock at work: several workers contend for it and update a
// file that its fencing tokens guard. One of them is cut off from the store
// while it holds the lock, and is seen stopping.
//
//	go run ./examples/quickstart
//	go run ./examples/quickstart -store sqlite:///tmp/locks.db
//	go run ./examples/quickstart -store 'etcd://127.0.0.1:2379/demo'
//	go run ./examples/quickstart -store 'zk://127.0.0.1:2181/demo'
//	go run ./examples/quickstart -store 'consul://127.0.0.1:8500/demo'
//	go run ./examples/quickstart -store 'postgres://me@127.0.0.1/mydb?password_env=PASSWORD&migrate=true'
//
// In two terminals, with one store, the workers of both stand in one line.
//
// The worker that is cut off keeps the others waiting until the store ends its
// session: for the TTL, and on Consul for up to twice that, 20 s.
//
// How a program uses the lock is in worker.go, what the token is for in
// ledger.go. The others stage the accident and tell the story.
//
// The exit status is 0 if every promise was kept, 2 if a flag or the store's
// URL is wrong, and 1 otherwise.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord"
	_ "github.com/coordkit/coordkit/drivers/consul"
	_ "github.com/coordkit/coordkit/drivers/etcd"
	_ "github.com/coordkit/coordkit/drivers/mem"
	_ "github.com/coordkit/coordkit/drivers/sql"
	_ "github.com/coordkit/coordkit/drivers/zk"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program, and returns its exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(stderr)
	store := flags.String("store", "mem://", "`URL` of the store: scheme://host[:port][,host[:port]…]/namespace")
	ttl := flags.Duration("ttl", 0, "how long the store keeps the session of a worker that fell silent, unless the URL says session_ttl (default 3s; on zk 8s, on consul 10s)")
	workers := flags.Int("workers", 3, "how many workers contend, at least 2")
	rounds := flags.Int("rounds", 3, "how often each of them updates the file, at least once")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2 // what is wrong was printed
	case flags.NArg() > 0:
		fmt.Fprintf(stderr, "quickstart: %q: want nothing but flags; the store's URL goes with -store; see -help\n", flags.Arg(0))
		return 2
	case *workers < 2 || *rounds < 1 || *ttl < 0:
		fmt.Fprintln(stderr, "quickstart: want at least 2 workers, 1 round and a positive TTL; see -help")
		return 2
	}
	if *ttl == 0 {
		*ttl = shortTTL(*store)
	}
	config := coord.Config{URL: *store, SessionTTL: coord.Duration(*ttl)}
	err := demo(ctx, config, *workers, *rounds, stdout)
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "quickstart:", err)
	if errors.Is(err, coord.ErrInvalid) {
		return 2
	}
	return 1
}

// shortTTL is short, because everybody waits for it, and is granted by the
// store's servers as they are shipped.
func shortTTL(store string) time.Duration {
	scheme, _, _ := strings.Cut(store, ":")
	switch strings.ToLower(scheme) {
	case "zk":
		return 8 * time.Second // four ticks
	case "consul":
		return 10 * time.Second // session_ttl_min
	default:
		return 3 * time.Second
	}
}

// demo runs the workers until all are done, one has failed, or ctx ends.
func demo(ctx context.Context, config coord.Config, workers, rounds int, out io.Writer) error {
	ttl, err := try(ctx, config)
	if err != nil {
		return err
	}
	ledger, err := newLedger()
	if err != nil {
		return err
	}
	defer os.Remove(ledger.path)
	fmt.Fprintf(out, "%d workers, %d rounds each, on %s with a TTL of %v\n\n", workers, rounds, config.URL, ttl)
	timeline := &timeline{out: out, start: time.Now(), next: make(chan struct{})}

	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	for i := range workers {
		w := worker{name: fmt.Sprintf("worker-%d", i+1), rounds: rounds, ledger: ledger, timeline: timeline}
		group.Go(func() {
			if err := w.run(ctx, config); err != nil {
				cancel(fmt.Errorf("%s: %w", w.name, err)) // the first error ends them all
			}
		})
	}
	group.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return timeline.verdict(ledger)
}

// try opens a session, to find out before the story begins whether the store
// can be reached and what TTL it grants.
func try(ctx context.Context, config coord.Config) (ttl time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	client, err := config.Open(ctx)
	if err != nil {
		return 0, err
	}
	defer client.Close(ctx)
	session, err := client.Session(ctx)
	if err != nil {
		return 0, err
	}
	return session.TTL(), nil
}
