package peers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/bench/contest"
)

// zkFloor is a contender. Its entries begin with an id of its own, by which it
// would find them again when a reply is lost.
type zkFloor struct {
	c       *zk.Conn
	dir, id string
	own     string
}

func zkFloorLock(c *zk.Conn, dir string) contest.Locker {
	return &zkFloor{c: c, dir: dir, id: strings.ToLower(rand.Text()[:16])}
}

// Lock creates its entry and lists the line. The deletion of the one ahead is
// the grant if that one was the first; if not, it may have given up, and another
// list tells.
func (l *zkFloor) Lock(context.Context) (err error) {
	const mode = zk.FlagEphemeral | zk.FlagSequence
	l.own, err = l.c.Create(l.dir+"/"+l.id+"-", nil, mode, zkOpen)
	if errors.Is(err, zk.ErrNoNode) { // the first use of the line
		if _, err := l.c.Create(l.dir, nil, 0, zkOpen); err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return err
		}
		l.own, err = l.c.Create(l.dir+"/"+l.id+"-", nil, mode, zkOpen)
	}
	if err != nil {
		return err
	}
	for {
		names, _, err := l.c.Children(l.dir)
		if err != nil {
			return err
		}
		first, ahead := zkAhead(names, l.own[len(l.dir)+1:])
		if ahead == "" {
			return nil
		}
		_, _, gone, err := l.c.ChildrenW(l.dir + "/" + ahead)
		if errors.Is(err, zk.ErrNoNode) {
			if ahead == first {
				return nil
			}
			continue
		}
		if err != nil {
			return err
		}
		if e := <-gone; e.Type != zk.EventNodeDeleted {
			return fmt.Errorf("watching %s: %v: %w", ahead, e.Type, e.Err)
		}
		if ahead == first {
			return nil
		}
	}
}

// zkAhead returns the first in line and the one right before own, both empty if
// own is the first. The servers' suffix has ten digits.
func zkAhead(names []string, own string) (first, ahead string) {
	number := func(name string) string { return name[len(name)-10:] }
	for _, n := range names {
		if number(n) >= number(own) {
			continue
		}
		if first == "" || number(n) < number(first) {
			first = n
		}
		if ahead == "" || number(n) > number(ahead) {
			ahead = n
		}
	}
	return first, ahead
}

func (l *zkFloor) Unlock(context.Context) error { return l.c.Delete(l.own, -1) }
