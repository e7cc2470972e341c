package slated_test

import (
	"fmt"
	"log"
	"time"

	"github.com/coordkit/coordkit/examples/slate/slated"
)

// A key under a lease goes with the lease.
func Example() {
	server, err := slated.Start()
	if err != nil {
		log.Fatal(err)
	}
	defer server.Close()

	lease := server.Do(slated.Request{Op: "grant", TTL: time.Minute}).Lease
	server.Do(slated.Request{Op: "txn", Then: []slated.Action{{Put: &slated.KV{Key: "line/a", Lease: lease}}}})
	look := slated.Request{Op: "txn", Then: []slated.Action{{Get: "line/"}}}
	fmt.Println("keys:", len(server.Do(look).Got[0]))
	server.Do(slated.Request{Op: "revoke", Lease: lease})
	fmt.Println("keys:", len(server.Do(look).Got[0]))
	// Output:
	// keys: 1
	// keys: 0
}
