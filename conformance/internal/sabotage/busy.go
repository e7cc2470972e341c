package sabotage

import (
	"context"
	"slices"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// busyWaitSabotages are waits that need a directory in which little happens.
func busyWaitSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "waits-for-quiet", Breaks: "W1",
			Doc: "A wait tells of a deletion when nothing else has happened in the directory for 50 ms. (Events that are collected until there are no more.)",
			Apply: afterWait(func(ctx context.Context, s *session, n driver.Node, err error) error {
				if err != nil {
					return err
				}
				for last, err := s.Session.List(ctx, n.Dir); err == nil; {
					select { // if several are ready any will do
					case <-time.After(50 * time.Millisecond):
					case <-ctx.Done():
						return ctx.Err()
					case <-s.Session.Done():
						return s.Session.Err()
					}
					before := last
					if last, err = s.Session.List(ctx, n.Dir); slices.EqualFunc(before, last, unchanged) {
						break
					}
				}
				return nil
			}),
		},
	}
}

// busyListSabotages are lists likewise.
func busyListSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "reads-until-two-agree", Breaks: "L1",
			Doc: "A list reads the directory until two reads agree, and fails if none of eight do. (Pages, or names and data, that are read one by one.)",
			Apply: eachConn(func(c *conn) {
				through := func(list listFunc) listFunc {
					return func(ctx context.Context, dir string) ([]driver.Node, error) {
						last, err := list(ctx, dir)
						for range 8 {
							if err != nil {
								return nil, err
							}
							rest(ctx.Done(), 2*time.Millisecond)
							before := last
							if last, err = list(ctx, dir); err == nil && slices.EqualFunc(before, last, unchanged) {
								return last, nil
							}
						}
						return nil, &driver.Error{Op: "list", Key: dir, Kind: driver.ErrUnavailable, Err: err}
					}
				}
				c.list = through(c.Conn.List)
				c.sessions(func(s *session) { s.list = through(s.Session.List) })
			}),
		},
	}
}
