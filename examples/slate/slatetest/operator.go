package slatetest

import (
	"context"
	"fmt"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/examples/slate/slated"
)

// What an operator does goes to the server itself, without the driver.

func (s store) expire(_ context.Context, namespace string, session driver.Session) error {
	if r := s.server(namespace).Do(slated.Request{Op: "revoke", Lease: session.ID()}); r.Err != "" {
		return fmt.Errorf("revoke %s: %s", session.ID(), r.Err)
	}
	return nil
}

func (s store) removeNode(_ context.Context, namespace string, n driver.Node) error {
	s.server(namespace).Do(slated.Request{Op: "txn", Then: []slated.Action{{Del: n.Key}}})
	return nil
}

// removeDir removes a directory, or a namespace with all its directories.
func (s store) removeDir(_ context.Context, namespace, dir string) error {
	path := namespace + "/" + dir + "/"
	for _, server := range s.below(path) {
		r := server.Do(slated.Request{Op: "txn", Then: []slated.Action{{Get: path}}})
		all := slated.Request{Op: "txn"}
		for _, kv := range r.Got[0] {
			all.Then = append(all.Then, slated.Action{Del: kv.Key})
		}
		server.Do(all)
	}
	return nil
}

// plantForeign puts keys that are no nodes: some under no lease, and one under a lease that
// its name tells, but with no valid id.
func (s store) plantForeign(_ context.Context, namespace, dir string) error {
	server := s.server(namespace)
	put := func(key, lease string) {
		kv := slated.KV{Key: namespace + "/" + dir + "/" + key, Lease: lease}
		server.Do(slated.Request{Op: "txn", Then: []slated.Action{{Put: &kv}}})
	}
	for _, key := range []string{"readme", "a/b", "-0", "0123456789abcdef-", "0123456789abcdef-0"} {
		put(key, "")
	}
	lease := server.Do(slated.Request{Op: "grant", TTL: slated.MaxTTL}).Lease
	put(lease+"-a/b", lease)
	return nil
}
