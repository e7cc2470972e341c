package testserver_test

import (
	"context"
	"fmt"
	"log"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coordkit/coordkit/internal/testserver"
)

// A program that is not a test starts a server, uses it and closes it.
func ExampleNewEtcd() {
	ctx := context.Background()
	cluster, err := testserver.NewEtcd(ctx, testserver.EtcdOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close()

	client, err := clientv3.New(cluster.ClientConfig())
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Put(ctx, "greeting", "hello"); err != nil {
		log.Fatal(err)
	}

	// A crash, and the data is still there.
	if err := cluster.Member(0).Restart(); err != nil {
		log.Fatal(err)
	}
	if err := cluster.WaitHealthy(ctx); err != nil {
		log.Fatal(err)
	}
	resp, err := client.Get(ctx, "greeting")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", resp.Kvs[0].Value)
	// Output: hello
}
