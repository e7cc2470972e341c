package slate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/examples/slate/slated"
)

// op describes a request to those who make its error and bound it.
type op struct {
	name, key string
	write     bool            // it changes something in the store
	limit     time.Duration   // of the attempt
	life      context.Context // of the session, or else of the connection: calls end with it
}

func (o op) failed(kind, err error) error {
	return &driver.Error{Op: o.name, Store: store, Key: o.key, Kind: kind, Err: err}
}

// do makes one attempt of a request, on a TCP connection of its own.
func (c *conn) do(ctx context.Context, o op, r slated.Request) (reply slated.Reply, err error) {
	if ctx.Err() != nil { // nothing is sent
		return reply, o.failed(driver.ErrUnavailable, driver.ContextError(ctx))
	}
	if o.life.Err() != nil {
		return reply, o.failed(driver.ErrClosed, nil)
	}
	attempt, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	stopLife := context.AfterFunc(o.life, cancel)
	defer stopLife()
	line, err := json.Marshal(r)
	if err != nil {
		return reply, o.failed(nil, err)
	}
	tcp, err := c.dial(attempt, "tcp", c.addr)
	sent := err == nil
	if sent {
		// Closing is what ends a read or a write under way.
		stop := context.AfterFunc(attempt, func() { _ = tcp.Close() })
		defer stop()
		defer tcp.Close()
		if _, err = tcp.Write(append(line, '\n')); err == nil {
			err = json.NewDecoder(tcp).Decode(&reply)
		}
	}
	kind := driver.ErrUnavailable
	if sent && o.write {
		kind = driver.ErrUncertain
	}
	switch {
	case err != nil && ctx.Err() != nil:
		return reply, o.failed(kind, driver.ContextError(ctx))
	case err != nil && o.life.Err() != nil:
		return reply, o.failed(driver.ErrClosed, nil)
	case err != nil && attempt.Err() != nil:
		return reply, o.failed(kind, fmt.Errorf("no answer within %v", o.limit))
	case err != nil:
		return reply, o.failed(kind, err)
	case reply.Err == "lease":
		return reply, o.failed(driver.ErrSessionLost, errors.New("no such lease"))
	case reply.Err != "":
		return reply, o.failed(nil, errors.New(reply.Err))
	}
	return reply, nil
}
