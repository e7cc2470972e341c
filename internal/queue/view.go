package queue

import (
	"context"

	"github.com/coordkit/coordkit/coord/driver"
)

// view is how much of a line who makes an entry in it wants to see.
type view int

const (
	unseen view = iota // the entry alone
	byName             // which entries there are
	byRule             // what the rule needs
	inFull             // with all data
)

// create makes a node and lists its directory, in one round trip where the driver
// knows how.
func (q *Queue) create(ctx context.Context, s driver.Session, dir, id string, data []byte, v view) (n driver.Node, line []driver.Node, err error) {
	names, named := driver.As[driver.NameLister](s)
	fast, quick := driver.As[driver.CreateLister](s)
	switch {
	case named && (v < byRule || v == byRule && q.suffice != nil):
		// Also if the list is not wanted: where a list is names, the place of a
		// node may be known by them alone.
		n, line, err = names.CreateNames(ctx, dir, id, data)
		if err != nil || v < byRule || q.suffice(line) {
			return n, line, err
		}
	case quick && v > unseen:
		return fast.CreateList(ctx, dir, id, data)
	default:
		n, err = s.Create(ctx, dir, id, data)
		if err != nil || v == unseen {
			return n, nil, err
		}
	}
	line, err = s.List(ctx, dir)
	return n, line, err
}

// see lists what the rule needs.
func (q *Queue) see(ctx context.Context, s driver.Session, dir string) ([]driver.Node, error) {
	if names, ok := driver.As[driver.NameLister](s); ok && q.suffice != nil {
		line, err := names.ListNames(ctx, dir)
		if err != nil || q.suffice(line) {
			return line, err
		}
	}
	return s.List(ctx, dir)
}
