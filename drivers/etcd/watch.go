package etcd

import (
	"context"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
)

// watch is a watch of a range of keys on the stream that all share. It is plain
// state; feeds guards it with a lock and does the talking.
type watch struct {
	span
	deletions bool // of deletions only

	open     bool            // it tells of everything from some revision on
	id       int64           // while open
	reading  bool            // a read is under way or about to be
	verify   time.Time       // when to make sure that no event was lost
	refusals int             // in a row
	ctx      context.Context // ends when nobody needs the watch any more
}

func (w *watch) state() *watch { return w }

// begin takes note that the watch is open.
func (w *watch) begin(id int64) { w.open, w.id, w.refusals = true, id, 0 }

// subject is what a watch is for: a feed or a view. The methods are called with
// the lock held.
//
// A watch alone does not tell what was before it. So a subject may be in doubt
// until the range, or a part of it, is read once while the watch is open.
type subject interface {
	state() *watch

	// wanted reports whether anybody needs it, or did less than linger ago.
	wanted(now time.Time, linger time.Duration) bool

	// opened takes note that the watch tells of everything after a revision,
	// and broken that it is over.
	opened(id int64, revision uint64)
	broken()

	// event takes note of an event, and tell of it that there are no more of the
	// same revision.
	event(e *mvccpb.Event)
	tell()

	// doubt makes it ask the store again. unread returns what has to be read,
	// if anything has.
	doubt()
	unread() (part span, any bool)

	// read takes note of what a read of a part of the range has found. It
	// reports whether the read was too old to be of use.
	read(part span, kvs []*mvccpb.KeyValue, revision uint64) (tooOld bool)

	// fail ends it with an error.
	fail(err error)
}
