package poll

import (
	"context"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/watch"
)

// Follow makes a watch.Follow of a request that lists a directory, for a watch.Hub. stamp is
// the one that a Look made at the same moment would have returned.
func (p *Poll) Follow(list func(ctx context.Context, dir string) (nodes []driver.Node, stamp string, err error)) watch.Follow {
	return func(ctx context.Context, dir string, show func(watch.List)) error {
		for {
			at := p.lists.Add(1) // as one list follows the other, also after an error
			nodes, stamp, err := list(ctx, dir)
			if err != nil {
				return err
			}
			show(watch.List{Nodes: nodes, At: at})
			if err := p.Changed(ctx, dir, stamp); err != nil {
				return err
			}
		}
	}
}
