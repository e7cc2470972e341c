package coord_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/drivers/mem"
)

func Example() {
	ctx := context.Background()
	client, err := coord.Open(ctx, "mem://shop/orders?session_ttl=5s")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	session, err := client.Session(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(session.TTL(), session.Err())
	// Output:
	// 5s <nil>
}

// A program that makes its connection itself, as tests do that want a store of
// their own for each case.
func ExampleNew() {
	ctx := context.Background()
	store := mem.NewStore()
	client, err := coord.New(store.Open("orders"), coord.Config{SessionTTL: coord.Duration(5 * time.Second)})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx) // and the connection

	session, err := client.Session(ctx)
	fmt.Println(session.TTL(), err)
	// Output:
	// 5s <nil>
}

// A program that runs on many machines refuses a store that others do not see.
func ExampleConfig_Open() {
	_, err := coord.Config{
		URL:        "mem://shop",
		SessionTTL: coord.Duration(10 * time.Second),
		Require:    coord.CapShared,
	}.Open(context.Background())
	fmt.Println(errors.Is(err, coord.ErrUnsupported))
	// Output:
	// true
}

func ExampleFromEnv() {
	os.Setenv("SHOP_URL", "mem://shop")
	os.Setenv("SHOP_SESSION_TTL", "30s")
	config, err := coord.FromEnv("SHOP_")
	fmt.Println(config.URL, config.SessionTTL, err)
	// Output:
	// mem://shop 30s <nil>
}

// Whoever looks on sees a line form and dissolve, without standing in it.
func ExampleClient_Watch() {
	ctx := context.Background()
	client, err := coord.Open(ctx, "mem://shop")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	session, err := client.Session(ctx)
	if err != nil {
		log.Fatal(err)
	}
	dir, err := coord.Dir("mutex", "till 1")
	if err != nil {
		log.Fatal(err)
	}
	for nodes, err := range client.Watch(ctx, dir) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("in line:", len(nodes))
		if len(nodes) > 0 {
			break
		}
		if _, err := session.Driver().Create(ctx, dir, "0", nil); err != nil {
			log.Fatal(err)
		}
	}
	// Output:
	// in line: 0
	// in line: 1
}
