package servers_test

import (
	"fmt"

	"github.com/coordkit/coordkit/bench/servers"
)

func Example() {
	fmt.Println(servers.Names())
	// Output: [etcd zk consul]
}
