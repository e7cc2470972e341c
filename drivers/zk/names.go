package zk

import (
	"context"

	"github.com/coordkit/coordkit/coord/driver"
)

// ListNames implements driver.NameLister. It reads names and nothing else. So
// what somebody else has put there under a node's name is listed as one, until
// somebody waits for it: the answer to the request for the watch tells whom it
// belongs to, the wait ends, and the name is not listed any more.
func (s *session) ListNames(ctx context.Context, dir string) ([]driver.Node, error) {
	return s.list(ctx, dir, true)
}
