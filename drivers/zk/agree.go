package zk

import (
	"context"

	gozk "github.com/go-zookeeper/zk"
)

// agree has the servers agree on a transaction that changes nothing. An answer
// to it proves more than one to anything else that changes nothing: that a
// majority followed the leader, that the leader held the session for alive, and
// that the server which answers has seen all that was agreed on before. Pings
// and reads prove neither, and a sync does not either when it is answered by a
// leader that does not know yet that it is none any more.
//
// A refusal, for lack of permission, has been agreed on like anything else.
func agree(ctx context.Context, l *link, o op) error {
	o.write = false // it may be made again
	_, err := call(ctx, l, o, func(c *gozk.Conn) (struct{}, error) {
		_, err := c.Multi(&gozk.CheckVersionRequest{Path: "/", Version: -1})
		if isRefusal(err) {
			err = nil
		}
		return struct{}{}, err
	})
	return err
}

// saw takes note that what the session reads is not older than zxid.
func (l *link) saw(zxid uint64) {
	for {
		seen := l.seen.Load()
		if zxid <= seen || l.seen.CompareAndSwap(seen, zxid) {
			return
		}
	}
}
