package etcd_test

import (
	"context"
	"fmt"
	"log"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/etcd"
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
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	conn, err := etcd.New(client, "myapp/prod", nil)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()

	session, err := conn.OpenSession(ctx, 10*time.Second)
	if err != nil {
		log.Fatal(err)
	}
	node, err := session.Create(ctx, "mutex:deploy", "0", nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(node.Key, node.Token)
}
