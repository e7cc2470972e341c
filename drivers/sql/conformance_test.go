package sql

import (
	"bufio"
	"context"
	"fmt"
	"hash/crc32"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/internal/dial"
	"github.com/coordkit/coordkit/internal/drivertest"
)

// suiteTTL is long enough for a renewal to get through among three dozen cases that write
// to one file.
const suiteTTL = 4 * time.Second

// parallel is how many cases run at a time. The databases are on the machine of the tests, and
// keep its processors busy: with more some calls would take longer than they may.
const parallel = 12

// link is a proxy before a server, and in the driver's dialer a gate that can hold back a
// single request.
type link struct {
	*netfault.Proxy
	*netfault.Gate
}

// newLink returns a link to a server whose requests match.
func newLink(addr string, match func([]byte) bool) (*link, error) {
	p, err := netfault.New(addr)
	if err != nil {
		return nil, err
	}
	return &link{p, netfault.NewGate(new(net.Dialer).DialContext, match)}, nil
}

func hold(l conformance.Link) func() { return l.(*link).Hold() }

// On SQLite. Connections without faults use a file, and those with a link a server that uses
// it: see remote_test.go. Cases that write to one file would wait for each other, so they are
// spread over some.
func TestConformance(t *testing.T) {
	of := spread(t)
	var files handles
	var mu sync.Mutex
	servers := make(map[string]*server) // by namespace
	serverOf := func(namespace string) (*server, error) {
		mu.Lock()
		defer mu.Unlock()
		if servers[namespace] == nil {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				return nil, err
			}
			servers[namespace] = serve(l)
		}
		return servers[namespace], nil
	}
	t.Cleanup(func() {
		for _, s := range servers {
			s.stop()
		}
	})
	h := of.harness("sqlite", suiteTTL, func(namespace string) int {
		mu.Lock()
		defer mu.Unlock()
		n := files.conns(namespace)
		if s := servers[namespace]; s != nil {
			n += s.count()
		}
		return n
	})
	h.Open = func(ctx context.Context, namespace string) (driver.Conn, error) {
		c, err := open(ctx, SQLite, target(of(namespace).path, namespace), dial.TCP())
		if err != nil {
			return nil, err
		}
		files.add(namespace, c.db.(*pool).db)
		_, err = c.List(ctx, "warm") // the suite counts connections
		return c, err
	}
	h.OpenLink = func(_ context.Context, namespace string) (driver.Conn, conformance.Link, error) {
		s, err := serverOf(namespace)
		if err != nil {
			return nil, nil, err
		}
		l, err := newLink(s.Addr().String(), changes)
		if err != nil {
			return nil, nil, err
		}
		return newConn(&remote{l.DialContext, l.Addr(), of(namespace).path}, SQLite, namespace), l, nil
	}
	h.Hold = hold
	drivertest.Conforms(t, h, conformance.Options{Parallel: parallel})
}

// spread returns the operators of some files, to which namespaces are given by their first
// two segments.
func spread(t *testing.T) operators {
	files := make([]*operator, 64)
	for i := range files {
		_, files[i] = newFileInMemory(t)
		files[i].create(t)
	}
	return func(path string) *operator {
		segments := strings.Split(path, "/")
		return files[crc32.ChecksumIEEE([]byte(strings.Join(segments[:min(2, len(segments))], "/")))%uint32(len(files))]
	}
}

// The recipes' rules and the random programs, with a process for every third client. Each
// process has handles of its own on the files.
func TestConformanceProcesses(t *testing.T) {
	of := spread(t)
	addrs := []string{startServer(t), startServer(t), startServer(t)}
	var turn atomic.Int64
	next := func() string { return addrs[turn.Add(1)%int64(len(addrs))] }
	h := of.harness("sqlite, three processes", suiteTTL, func(string) int { return conformance.Unknown })
	h.Open = func(_ context.Context, namespace string) (driver.Conn, error) {
		return newConn(&remote{new(net.Dialer).DialContext, next(), of(namespace).path}, SQLite, namespace), nil
	}
	h.OpenLink = func(_ context.Context, namespace string) (driver.Conn, conformance.Link, error) {
		l, err := newLink(next(), changes)
		if err != nil {
			return nil, nil, err
		}
		return newConn(&remote{l.DialContext, l.Addr(), of(namespace).path}, SQLite, namespace), l, nil
	}
	h.Hold = hold
	drivertest.Conforms(t, h, conformance.Options{Parallel: parallel, Rules: slices.Concat(uncounted(conformance.RecipeRules()), conformance.RandomRules())})
}

// uncounted leaves out the rules that want connections to be counted.
func uncounted(rules []conformance.Rule) []conformance.Rule {
	return slices.DeleteFunc(rules, func(r conformance.Rule) bool { return r.Counts() })
}

// serverVariable makes the test binary a server.
const serverVariable = "COORDKIT_SQL_SERVER"

// A server never gets as far as to the tests. It ends with its standard input.
func init() {
	if os.Getenv(serverVariable) == "" {
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	serve(l)
	fmt.Println(l.Addr())
	_, _ = os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}

// startServer starts a process that executes scripts, and returns its address.
func startServer(t *testing.T) string {
	t.Helper()
	executable, err := os.Executable()
	must(t, err)
	cmd := exec.Command(executable)
	cmd.Env = append(os.Environ(), serverVariable+"=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = stdin.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the server: %v", err)
		}
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	must(t, err)
	return strings.TrimSpace(line)
}
