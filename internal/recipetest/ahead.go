package recipetest

import "github.com/coordkit/coordkit/coord/driver"

// Ahead makes a connection one to a store where it pays to look ahead, as ZooKeeper
// is: see driver.CapWaitAhead.
func Ahead(conn driver.Conn) driver.Conn { return aheadConn{conn} }

type aheadConn struct{ driver.Conn }

// Unwrap makes the optional interfaces of the connection reachable.
func (c aheadConn) Unwrap() any { return c.Conn }

func (c aheadConn) Caps() driver.Caps {
	return (c.Conn.Caps() | driver.CapWaitAhead) &^ (driver.CapCheapList | driver.CapWaitBoth | driver.CapWaitFirst)
}
