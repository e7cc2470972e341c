package testserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"

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

func ExampleNewConsul() {
	ctx := context.Background()
	cluster, err := testserver.NewConsul(ctx, testserver.ConsulOptions{Dev: true})
	if err != nil {
		log.Fatal(err)
	}
	defer cluster.Close()

	resp, err := http.Get(cluster.Member(0).Endpoint() + "/v1/catalog/datacenters")
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	defer http.DefaultClient.CloseIdleConnections()
	var datacenters []string
	if err := json.NewDecoder(resp.Body).Decode(&datacenters); err != nil {
		log.Fatal(err)
	}
	fmt.Println(datacenters)
	// Output: [dc1]
}

func ExampleNewPostgres() {
	ctx := context.Background()
	postgres, err := testserver.NewPostgres(ctx, testserver.PostgresOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer postgres.Close()

	// A program's own driver takes postgres.URL(testserver.Owner) instead.
	answer, err := postgres.Member(0).Query(ctx, testserver.Owner, "SELECT 6 * 7")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
	// Output: 42
}

func ExampleNewZooKeeper() {
	ctx := context.Background()
	ensemble, err := testserver.NewZooKeeper(ctx, testserver.ZooKeeperOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer ensemble.Close()

	answer, err := ensemble.Member(0).FourLetter(ctx, "ruok")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer)
	// Output: imok
}
