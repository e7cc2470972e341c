package sabotage

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

func dataSabotages() []Sabotage {
	return []Sabotage{
		{
			Name: "compressed-data", Breaks: "C8",
			Doc: "Data that begin as gzip does are unpacked, or refused if they are not gzip.",
			Apply: eachSession(func(s *session) {
				s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
					if bytes.HasPrefix(data, []byte("\x1f\x8b")) {
						return driver.Node{}, &driver.Error{Op: "create", Key: dir, Kind: driver.ErrInvalid}
					}
					return s.Session.Create(ctx, dir, id, data)
				}
			}),
		},
		{
			Name: "data-cut", Breaks: "C8",
			Doc: "Long data is cut to a round number of bytes.",
			Apply: recode(func(data []byte) []byte {
				return data[:min(len(data), 4096)]
			}),
		},
		{
			Name: "data-trimmed", Breaks: "C8",
			Doc:   "White space around the data is lost on the way through a text format.",
			Apply: recode(bytes.TrimSpace),
		},
		{
			Name: "data-as-text", Breaks: "C8",
			Doc: "Data is kept in a JSON string, so bytes that are not UTF-8 are replaced.",
			Apply: recode(func(data []byte) []byte {
				return []byte(strings.ToValidUTF8(string(data), "?"))
			}),
		},
		{
			Name: "data-too-long-taken", Breaks: "C8",
			Doc: "Data longer than MaxData is written as far as it fits.",
			Apply: recode(func(data []byte) []byte {
				return data[:min(len(data), driver.MaxData)]
			}),
		},
		{
			Name: "data-not-copied", Breaks: "C8",
			Doc:   "The node shares the caller's slice. (What stores inside the process do.)",
			Apply: shareData,
		},
		{
			Name: "data-not-copied-for-the-answer", Breaks: "C8",
			Doc: "The node that Update returns has the caller's slice.",
			Apply: eachSession(func(s *session) {
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					m, err := s.Session.Update(ctx, n, data)
					if len(data) > 3 {
						m.Data = data
					}
					return m, err
				}
			}),
		},
		{
			Name: "buffer-used-again", Breaks: "C8",
			Doc: "The data that Update returns is in a buffer that the next Update writes to.",
			Apply: eachSession(func(s *session) {
				var mu sync.Mutex
				buffer := make([]byte, driver.MaxData)
				s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
					m, err := s.Session.Update(ctx, n, data)
					mu.Lock()
					defer mu.Unlock()
					m.Data = buffer[:copy(buffer, m.Data)]
					return m, err
				}
			}),
		},
		{
			Name: "list-used-again", Breaks: "C8",
			Doc: "A list is in an array that the next list writes to.",
			Apply: eachSession(func(s *session) {
				var mu sync.Mutex
				lists := make(map[string][]driver.Node) // by directory
				s.list = func(ctx context.Context, dir string) ([]driver.Node, error) {
					nodes, err := s.Session.List(ctx, dir)
					mu.Lock()
					defer mu.Unlock()
					lists[dir] = append(lists[dir][:0], nodes...)
					return lists[dir], err
				}
			}),
		},
	}
}

// shareData shows the slices that callers gave.
func shareData(h conformance.Harness) conformance.Harness {
	// By key, token and version: a watch may show what was written before the writer
	// hears of it.
	var given sync.Map
	name := func(n driver.Node) string { return fmt.Sprint(n.Key, " ", n.Token, " ", n.Version) }
	out := func(_ string, n driver.Node) driver.Node {
		if data, ok := given.Load(name(n)); ok {
			n.Data = data.([]byte)
		}
		return n
	}
	h = mapped(h, out, func(_ string, n driver.Node) driver.Node { return n })
	return onSession(h, func(s *session) {
		s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
			n, err := s.Session.Create(ctx, dir, id, data)
			if err == nil && bytes.Equal(n.Data, data) {
				given.Store(name(n), data)
			}
			return n, err
		}
		s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
			m, err := s.Session.Update(ctx, n, data)
			if err == nil {
				given.Store(name(m), data)
				m.Data = data
			}
			return m, err
		}
	})
}

// recode changes data on its way to the store.
func recode(change func([]byte) []byte) func(conformance.Harness) conformance.Harness {
	return eachSession(func(s *session) {
		s.create = func(ctx context.Context, dir, id string, data []byte) (driver.Node, error) {
			return s.Session.Create(ctx, dir, id, change(data))
		}
		s.update = func(ctx context.Context, n driver.Node, data []byte) (driver.Node, error) {
			return s.Session.Update(ctx, n, change(data))
		}
	})
}
