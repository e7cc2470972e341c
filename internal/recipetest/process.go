package recipetest

import (
	"context"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// Process is a program with a client of its own, which is closed with the test.
type Process struct {
	*coord.Client
	conn *mem.Conn
}

// Process opens a client.
func (w *World) Process() *Process {
	w.Helper()
	return w.ProcessOver(func(conn driver.Conn) driver.Conn { return conn })
}

// Counted opens a client whose requests are counted.
func (w *World) Counted(n *Counter) *Process {
	w.Helper()
	return w.ProcessOver(n.over)
}

// ProcessOver opens a client on a connection that is wrapped.
func (w *World) ProcessOver(wrap func(driver.Conn) driver.Conn) *Process {
	w.Helper()
	conn := w.Store.Open(Namespace)
	via := wrap(conn)
	if w.Plain {
		via = plainConn{via}
	}
	c, err := coord.New(via, coord.Config{SessionTTL: coord.Duration(TTL)})
	w.OK(err)
	w.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			w.Errorf("closing a client: %v", err)
		}
	})
	return &Process{c, conn}
}

// Link is the client's way to the store, which fails on command.
func (p *Process) Link() *mem.Link { return p.conn.Link() }

// owns reports whether a node is of the session, as far as it has one
// without asking the store.
func (p *Process) owns(n driver.Node) bool {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s, err := p.Session(ctx)
	return err == nil && s.ID() == n.Session
}

// plainConn hides the optional interfaces of a connection and its sessions.
type plainConn struct{ driver.Conn }

func (c plainConn) Caps() driver.Caps { return 0 }

func (c plainConn) OpenSession(ctx context.Context, ttl time.Duration) (driver.Session, error) {
	s, err := c.Conn.OpenSession(ctx, ttl)
	if err != nil {
		return nil, err
	}
	return struct{ driver.Session }{s}, nil
}
