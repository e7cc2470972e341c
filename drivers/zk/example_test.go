package zk_test

import (
	"context"
	"fmt"
	"log"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	_ "github.com/coordkit/coordkit/drivers/zk"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// The import registers the scheme and says what a URL may hold.
func Example() {
	opener, err := driver.DefaultMux.Lookup("zk")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("port", opener.DefaultPort)
	for _, p := range opener.Params {
		fmt.Println(p.Name)
	}
	// Output:
	// port 2181
	// acl
}

// A lock on an ensemble of three.
func Example_lock() {
	ctx := context.Background()
	client, err := coord.Open(ctx, "zk://10.0.0.1,10.0.0.2,10.0.0.3/myapp/prod?session_ttl=15s")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	held, err := mutex.New(client, "deploy").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer held.Unlock(ctx)
	fmt.Println("token", held.Token())
}
