package etcd_test

import (
	"context"
	"fmt"
	"log"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/etcd"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// The import registers the scheme and says what a URL may hold.
func Example() {
	opener, err := driver.DefaultMux.Lookup("etcd")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("port", opener.DefaultPort)
	for _, p := range opener.Params {
		fmt.Println(p.Name)
	}
	// Output:
	// port 2379
	// dial_timeout
	// keepalive_time
	// keepalive_timeout
}

// A connection on a client that the program has anyway.
func ExampleNew() {
	ctx := context.Background()
	client, err := clientv3.New(clientv3.Config{
		Endpoints:            []string{"10.0.0.1:2379", "10.0.0.2:2379", "10.0.0.3:2379"},
		DialKeepAliveTime:    10 * time.Second,
		DialKeepAliveTimeout: 3 * time.Second,
		// And the DialOptions of the package's comment.
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	conn, err := etcd.New(client, "myapp/prod", nil)
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
