// Command etcdbin is the etcd server itself, built from the pinned release of
// its Go module, so that tests run against the real thing without a download
// of release archives. It takes etcd's own flags.
//
// It lives in a module of its own: the server's dependencies are many, and none
// of them may reach a program that imports coordkit.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() {
	etcdmain.Main(os.Args)
}
