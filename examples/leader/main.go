// Leader is a service in several replicas, of which one leads. The leader counts;
// every replica answers requests with the latest count, also while the leader is
// lost and the next one takes over.
//
//	go run ./examples/leader
//
// runs three replicas in one process, cuts the leader off from the store, and
// judges what clients saw meanwhile. On a store that processes share it runs one
// replica, until it is interrupted. Start several, ask them with curl, and kill
// the one that leads:
//
//	go run ./examples/leader -store 'etcd://127.0.0.1:2379/demo' -name a -listen 127.0.0.1:8001
//	go run ./examples/leader -store 'etcd://127.0.0.1:2379/demo' -name b -listen 127.0.0.1:8002
//	go run ./examples/leader -store 'etcd://127.0.0.1:2379/demo' -name c -listen 127.0.0.1:8003
//	curl http://127.0.0.1:8001
//
// How a service uses an election is in replica.go. The other files stage the
// accident and tell the story.
//
// The exit status is 0 if all went well, 2 if a flag or the store's URL is wrong,
// and 1 otherwise.
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
	"syscall"
	"time"

	"github.com/coordkit/coordkit/coord"
	_ "github.com/coordkit/coordkit/drivers/consul"
	_ "github.com/coordkit/coordkit/drivers/etcd"
	_ "github.com/coordkit/coordkit/drivers/mem"
	_ "github.com/coordkit/coordkit/drivers/zk"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// run is the program, and returns its exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("leader", flag.ContinueOnError)
	flags.SetOutput(stderr)
	store := flags.String("store", "mem://", "`URL` of the store: scheme://host[:port][,host[:port]…]/namespace")
	ttl := flags.Duration("ttl", 0, "how long the store keeps the session of a replica that fell silent, unless the URL says session_ttl (default 2s in one process, otherwise 15s)")
	name := flags.String("name", fmt.Sprint("replica-", os.Getpid()), "what the replica is called")
	listen := flags.String("listen", "127.0.0.1:0", "the `address` that the replica serves on")
	replicas := flags.Int("replicas", 3, "how many replicas to run on mem://, in one process; at least 2")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2 // what is wrong was printed
	case flags.NArg() > 0 || *ttl < 0 || *replicas < 2 || *name == "":
		fmt.Fprintln(stderr, "leader: want a positive TTL, at least 2 replicas, a name, and nothing but flags; see -help")
		return 2
	}
	config := coord.Config{URL: *store, SessionTTL: coord.Duration(*ttl), Owner: coord.Owner{Name: *name}}
	story := &timeline{out: stdout, start: time.Now()}
	var err error
	if scheme, _, _ := strings.Cut(*store, ":"); scheme == "mem" { // which no other process sees
		err = demo(ctx, config, *replicas, story)
	} else {
		err = serve(ctx, config, *name, *listen, story)
	}
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "leader:", err)
	if errors.Is(err, coord.ErrInvalid) {
		return 2
	}
	return 1
}

// serve runs one replica until ctx ends, as it is meant to.
func serve(ctx context.Context, config coord.Config, name, address string, story *timeline) error {
	client, err := config.Open(ctx)
	if err != nil {
		return err
	}
	// A service that cannot reach its store when it starts says so. Later on it
	// waits for the store to come back.
	first, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := client.Session(first); err != nil {
		return errors.Join(err, client.Close(first))
	}
	r, err := newReplica(name, address, client, story)
	if err != nil {
		return errors.Join(err, client.Close(ctx))
	}
	story.say(name, "serves at %s", r.url)
	err = r.run(ctx)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		err = nil // it was told to stop
	}
	return err
}
