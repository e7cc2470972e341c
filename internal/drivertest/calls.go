package drivertest

import (
	"context"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// Call is a method that talks to the store. It is called on a connection, a session of it
// and a node of the directory "d". A method of the one does not use the others.
type Call func(ctx context.Context, c driver.Conn, s driver.Session, n driver.Node) error

// Calls returns the calls that every driver has, with CreateList, by their names. The
// caller may change the map.
func Calls() map[string]Call {
	return map[string]Call{
		"OpenSession": func(ctx context.Context, c driver.Conn, _ driver.Session, _ driver.Node) error {
			_, err := c.OpenSession(ctx, time.Minute)
			return err
		},
		"Conn.List": func(ctx context.Context, c driver.Conn, _ driver.Session, _ driver.Node) error {
			_, err := c.List(ctx, "d")
			return err
		},
		"Create": func(ctx context.Context, _ driver.Conn, s driver.Session, _ driver.Node) error {
			_, err := s.Create(ctx, "d", "1", nil)
			return err
		},
		"CreateList": func(ctx context.Context, _ driver.Conn, s driver.Session, _ driver.Node) error {
			_, _, err := s.(driver.CreateLister).CreateList(ctx, "d", "2", nil)
			return err
		},
		"Abandon": func(ctx context.Context, _ driver.Conn, s driver.Session, _ driver.Node) error {
			return s.Abandon(ctx, "d", "1")
		},
		"List": func(ctx context.Context, _ driver.Conn, s driver.Session, _ driver.Node) error {
			_, err := s.List(ctx, "d")
			return err
		},
		"WaitDelete": func(ctx context.Context, _ driver.Conn, s driver.Session, n driver.Node) error {
			return s.WaitDelete(ctx, n)
		},
		"Update": func(ctx context.Context, _ driver.Conn, s driver.Session, n driver.Node) error {
			_, err := s.Update(ctx, n, nil)
			return err
		},
		"Delete": func(ctx context.Context, _ driver.Conn, s driver.Session, n driver.Node) error {
			return s.Delete(ctx, n)
		},
	}
}
