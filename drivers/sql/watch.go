package sql

import (
	"context"
	dbdriver "database/sql/driver"
	"errors"
	"fmt"
	"hash/crc32"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/stdlib"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
	"github.com/coordkit/coordkit/coord/driver/poll"
)

// Watch implements driver.Watcher.
func (c *conn) Watch(ctx context.Context, dir string) iter.Seq2[[]driver.Node, error] {
	return c.watches.Watch(ctx, dir)
}

// look is the poll.Look of a connection: one message for all nodes and directories.
func (c *conn) look(ctx context.Context, q poll.Question) (a poll.Answer, err error) {
	const from = " FROM {p}node n JOIN {p}session s ON s.id = n.session WHERE "
	tokens, dirs := make([]string, len(q.Nodes)), make([]string, len(q.Dirs))
	for i, n := range q.Nodes {
		tokens[i] = strconv.FormatUint(n.Token, 10)
	}
	for i, dir := range q.Dirs {
		dirs[i] = c.dialect.literal(c.dir(dir))
	}
	var s script
	if len(tokens) > 0 {
		s.do = append(s.do, c.sql("SELECT n.token, {left}"+from+"n.token IN (")+strings.Join(tokens, ", ")+")")
	}
	if len(dirs) > 0 {
		s.list = c.sql("SELECT n.dir, MIN({left}), COUNT(*), SUM(n.token), SUM(n.version)"+from+"n.dir IN (") +
			strings.Join(dirs, ", ") + ") GROUP BY n.dir"
	}
	o := attempt.Op{Store: c.dialect.scheme, Name: "look", Limit: 2 * time.Second}
	there, stamps := make(map[string]bool), make(map[string]string)
	err = o.Do(ctx, c.sessions.Life(), keep(c.request(o, s, func(found answer) error {
		for _, rows := range found {
			for _, row := range rows {
				left := time.Duration(number(row[1])) * time.Millisecond
				if a.Expired = a.Expired || left <= 0; a.Next == 0 || left < a.Next {
					a.Next = left
				}
				if there[string(row[0])] = true; len(row) > 2 {
					stamps[string(row[0])] = fmt.Sprintf("%s %s %s", row[2], row[3], row[4])
				}
			}
		}
		return nil
	})))
	for i := range q.Nodes {
		if !there[tokens[i]] {
			a.Gone = append(a.Gone, i)
		}
	}
	for _, dir := range q.Dirs {
		a.Stamps = append(a.Stamps, stamps[c.dir(dir)])
	}
	return a, err
}

// relaxed is the longest pause between looks while the database tells of clients' deletions.
const relaxed = 500 * time.Millisecond

// channel is what the clients of a namespace listen to.
func (c *conn) channel() string {
	return fmt.Sprintf("coordkit_%08x", crc32.ChecksumIEEE([]byte(c.dialect.prefix+" "+c.space)))
}

// tell returns the statement that tells what is gone, a token or "s" and a session, if the
// condition holds. It comes after the commit: a transaction that notifies locks something of
// the whole database while it is committed.
func (c *conn) tell(gone, condition string, args ...any) []string {
	if !c.dialect.tells {
		return nil
	}
	return []string{c.sql("SELECT pg_notify(?, ?) WHERE "+condition, append([]any{c.channel(), gone}, args...)...)}
}

// listen listens from the first wait on, if the database tells.
func (c *conn) listen() {
	if c.news == nil {
		return
	}
	c.hearing.Do(func() {
		c.sessions.Go(func() {
			for life := c.sessions.Life(); life.Err() == nil; {
				_ = c.hear(life) // until it is heard again the polling is as fast as ever
				c.polls.Relax(0)
				select {
				case <-time.After(time.Second):
				case <-life.Done():
				}
			}
		})
	})
}

// hear listens on a connection for as long as it lasts. The polling becomes slower when a first
// message has come, of the client itself: a pooler may take a LISTEN and pass nothing on.
func (c *conn) hear(ctx context.Context) error {
	own, err := c.news.Conn(ctx)
	if err != nil {
		return err
	}
	defer own.Close()
	return own.Raw(func(own any) (err error) {
		pgx, ok := own.(*stdlib.Conn)
		if !ok {
			return dbdriver.ErrBadConn
		}
		pg := pgx.Conn()
		defer func() { // nobody else is to have a connection that listens
			_ = pg.PgConn().Conn().Close()
			err = errors.Join(err, dbdriver.ErrBadConn)
		}()
		if _, err := pg.PgConn().Exec(ctx, "LISTEN "+c.channel()).ReadAll(); err != nil {
			return err
		}
		c.polls.Soon() // for what was deleted before
		if _, err := c.db.run(ctx, attempt.Op{}, script{after: c.tell("s", "TRUE")}); err != nil {
			return err
		}
		for {
			said, err := pg.WaitForNotification(ctx)
			if err != nil {
				return err
			}
			c.polls.Relax(relaxed)
			if token, err := strconv.ParseUint(said.Payload, 10, 64); err == nil {
				c.polls.Gone(func(n driver.Node) bool { return n.Token == token })
			} else {
				c.polls.Soon()
			}
		}
	})
}
