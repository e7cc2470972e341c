package consul_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/consul"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// The import registers the scheme and says what a URL may hold.
func Example() {
	opener, err := driver.DefaultMux.Lookup("consul")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("port", opener.DefaultPort)
	for _, p := range opener.Params {
		fmt.Println(p.Name)
	}
	// Output:
	// port 8500
	// consul_namespace
	// partition
	// datacenter
	// dial_timeout
}

// A connection on a client that the program has anyway.
func ExampleNew() {
	ctx := context.Background()
	client, err := api.NewClient(&api.Config{
		Address:    "127.0.0.1:8500",
		HttpClient: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, MaxConnsPerHost: 64}},
	})
	if err != nil {
		log.Fatal(err)
	}
	conn, err := consul.New(client, "myapp/prod", nil)
	if err != nil {
		log.Fatal(err)
	}
	locks, err := coord.New(conn, coord.Config{SessionTTL: coord.Duration(15 * time.Second)})
	if err != nil {
		log.Fatal(err)
	}
	defer locks.Close(ctx) // and conn

	err = mutex.New(locks, "deploy").Do(ctx, func(ctx context.Context, token uint64) error {
		fmt.Println("holds it with token", token)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
}
