package election_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/coordkit/coordkit/coord"
	_ "github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/recipes/election"
)

func Example() {
	ctx := context.Background()
	client, err := coord.Open(ctx, "mem://shop/orders")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	e := election.New(client, "scheduler")

	if _, err := e.Leader(ctx); errors.Is(err, election.ErrNoLeader) {
		fmt.Println("nobody leads")
	}
	l, err := e.Campaign(ctx, []byte("10.0.0.1:8080"))
	if err != nil {
		log.Fatal(err)
	}
	leader, err := e.Leader(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s leads, with the token of the leadership: %t\n", leader.Value, leader.Token == l.Token())
	if err := l.Proclaim(ctx, []byte("10.0.0.1:9090")); err != nil {
		log.Fatal(err)
	}
	if err := l.Resign(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("after the end:", errors.Is(l.Proclaim(ctx, nil), coord.ErrNotHeld))
	// Output:
	// nobody leads
	// 10.0.0.1:8080 leads, with the token of the leadership: true
	// after the end: true
}

func ExampleElection_Run() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	client, err := coord.Open(ctx, "mem://shop/orders")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(context.Background())

	terms := 0
	err = election.New(client, "scheduler").Run(ctx, nil, func(ctx context.Context, l *election.Leadership) error {
		terms++
		fmt.Println("leads for term", terms)
		if terms == 1 {
			return election.ErrStepDown // let somebody else, and stand again
		}
		stop() // as an interrupt would
		<-ctx.Done()
		return nil
	}, nil)
	fmt.Println(err)
	// Output:
	// leads for term 1
	// leads for term 2
	// context canceled
}

func ExampleElection_Observe() {
	ctx := context.Background()
	client, err := coord.Open(ctx, "mem://shop/orders")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	e := election.New(client, "scheduler")

	var l *election.Leadership
	for seen, err := range e.Observe(ctx) {
		switch {
		case err != nil:
			log.Fatal(err)
		case !seen.Vacant:
			fmt.Printf("%s leads\n", seen.Leader.Value)
			if err := l.Resign(ctx); err != nil {
				log.Fatal(err)
			}
		case l == nil:
			fmt.Println("nobody leads yet")
			if l, err = e.Campaign(ctx, []byte("10.0.0.1:8080")); err != nil {
				log.Fatal(err)
			}
		default:
			fmt.Println("nobody leads any more")
			return
		}
	}
	// Output:
	// nobody leads yet
	// 10.0.0.1:8080 leads
	// nobody leads any more
}

// A leader that steps down when it is asked to.
func ExampleLeadership_Revoked() {
	ctx := context.Background()
	client, err := coord.Open(ctx, "mem://shop/orders")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	e := election.New(client, "scheduler")
	l, err := e.Campaign(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}

	asked := make(chan error, 1)
	go func() { asked <- e.Revoke(ctx, l.Token(), "a new version is to lead") }() // from wherever

	revocation, err := l.Revoked(l.Context()) // beside the leader's work
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("asked to go:", revocation.Reason)
	if err := l.Resign(ctx); err != nil {
		log.Fatal(err)
	}
	fmt.Println("who asked is told:", <-asked)
	// Output:
	// asked to go: a new version is to lead
	// who asked is told: <nil>
}
