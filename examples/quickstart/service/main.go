// Service is the program of doc/getting-started.md: of all its copies one leads, and the
// others stand by. Start it twice on one store, and stop the copy that leads:
//
//	go run ./service -store sqlite:///tmp/locks.db
//
// The exit status is 0 after an interrupt, and 1 after an error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/coordkit/coordkit/coord"
	_ "github.com/coordkit/coordkit/drivers/consul"
	_ "github.com/coordkit/coordkit/drivers/etcd"
	_ "github.com/coordkit/coordkit/drivers/mem"
	_ "github.com/coordkit/coordkit/drivers/sql"
	_ "github.com/coordkit/coordkit/drivers/zk"
	"github.com/coordkit/coordkit/recipes/election"
)

func main() {
	store := flag.String("store", "mem://", "`URL` of the store")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *store); err != nil {
		log.Fatal(err)
	}
}

// run takes part in the election until ctx ends.
func run(ctx context.Context, url string) (err error) {
	client, err := coord.Open(ctx, url)
	if err != nil {
		return err
	}
	defer func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		err = errors.Join(err, client.Close(last))
	}()

	first, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if _, err := client.Session(first); err != nil { // a store that cannot be used ends the program
		return err
	}

	name := []byte(fmt.Sprint("process ", os.Getpid()))
	err = election.New(client, "scheduler").Run(ctx, name, lead, nil)
	if ctx.Err() != nil {
		return nil // the program was told to stop
	}
	return err
}

// lead works until ctx ends, with the leadership or the program.
func lead(ctx context.Context, l *election.Leadership) error {
	fmt.Printf("process %d leads with token %d\n", os.Getpid(), l.Token())
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			fmt.Println("working") // pass the token to each write
		case <-ctx.Done():
			fmt.Println("leads no more:", context.Cause(ctx))
			return nil
		}
	}
}
