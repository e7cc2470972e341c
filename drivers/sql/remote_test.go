package sql

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
)

// A file has no network, and so no faults of one. Tests put one between the driver and
// SQLite: a server executes scripts that it gets over TCP, each on a connection of its own,
// on the file that they name.

// kinds are those of the errors that a server can answer with.
var kinds = []error{nil, driver.ErrUnavailable, driver.ErrUncertain, driver.ErrInvalid, driver.ErrDenied}

// message is a script, or an answer.
type message struct {
	Path            string
	Write           bool
	Do, After       []string
	List            string
	Answer          answer
	Failed, Refused bool // Failed: there is an error; Refused: it is an answer
	Kind            int  // of kinds
	Text            string
}

// server executes scripts.
type server struct {
	net.Listener
	mu      sync.Mutex
	pools   map[string]*pool // by path
	conns   map[net.Conn]struct{}
	running sync.WaitGroup
}

func serve(l net.Listener) *server {
	s := &server{Listener: l, pools: make(map[string]*pool), conns: make(map[net.Conn]struct{})}
	s.running.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns[c] = struct{}{}
			s.mu.Unlock()
			s.running.Go(func() {
				s.handle(c)
				s.mu.Lock()
				delete(s.conns, c)
				s.mu.Unlock()
				_ = c.Close()
			})
		}
	})
	return s
}

// count returns the number of connections.
func (s *server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// pool returns the pool of a file.
func (s *server) pool(path string) (*pool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pools[path] == nil {
		db, err := openSQLite(path)
		if err != nil {
			return nil, err
		}
		s.pools[path] = newPool(SQLite, db, nil, true)
	}
	return s.pools[path], nil
}

// stop ends the server.
func (s *server) stop() {
	_ = s.Close()
	s.mu.Lock()
	for c := range s.conns {
		_ = c.Close()
	}
	s.mu.Unlock()
	s.running.Wait()
	for _, p := range s.pools {
		p.close()
	}
}

func (s *server) handle(c net.Conn) {
	var m message
	if gob.NewDecoder(c).Decode(&m) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	o := attempt.Op{Write: m.Write, Limit: 5 * time.Second}
	var a answer
	err := o.Do(ctx, context.Background(), func(ctx context.Context) error {
		p, err := s.pool(m.Path)
		if err != nil {
			return err
		}
		a, err = p.run(ctx, o, script{write: m.Write, do: m.Do, list: m.List, after: m.After})
		return err
	})
	reply := message{Answer: a, Failed: err != nil}
	if failed, ok := errors.AsType[*driver.Error](err); ok {
		reply.Refused = true
		reply.Kind = max(slices.Index(kinds, failed.Kind), 0)
		if failed.Err != nil {
			reply.Text = failed.Err.Error()
		}
	}
	_ = send(c, reply)
}

// send writes a message at once, as a gate looks at single writes.
func send(c net.Conn, m message) error {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(m); err != nil {
		return err
	}
	_, err := c.Write(b.Bytes())
	return err
}

// remote is a runner that has scripts executed by a server.
type remote struct {
	dial func(ctx context.Context, network, addr string) (net.Conn, error)
	addr string
	path string
}

func (r *remote) close() {}

func (r *remote) run(ctx context.Context, o attempt.Op, s script) (answer, error) {
	c, err := r.dial(ctx, "tcp", r.addr)
	if err != nil {
		return nil, attempt.NotSent(err)
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.Close() })()
	var reply message
	if err = send(c, message{Path: r.path, Write: s.write, Do: s.do, List: s.list, After: s.after}); err == nil {
		err = gob.NewDecoder(c).Decode(&reply)
	}
	switch {
	case err != nil:
		return nil, err
	case !reply.Failed:
		return reply.Answer, nil
	}
	return nil, o.Failed(kinds[reply.Kind], errors.New(reply.Text))
}

// changes reports whether a request is for a call that changes a node.
func changes(request []byte) bool {
	for _, what := range []string{"INTO coordkit_node", "UPDATE coordkit_node", "FROM coordkit_node WHERE"} {
		if bytes.Contains(request, []byte(what)) {
			return true
		}
	}
	return false
}
