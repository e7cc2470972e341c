package netfault_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
)

// store stands for the store that a driver talks to: it reports each line it
// gets and answers it.
type store struct {
	net.Listener
	applied chan string
}

func newStore() store {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	s := store{Listener: listener, applied: make(chan string, 8)}
	go func() {
		for {
			conn, err := s.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				for lines := bufio.NewScanner(conn); lines.Scan(); {
					s.applied <- lines.Text()
					fmt.Fprintln(conn, "ok")
				}
			}()
		}
	}()
	return s
}

// call stands for a driver's request: it sends a line and returns the answer.
func call(conn net.Conn, request string) (string, error) {
	if _, err := fmt.Fprintln(conn, request); err != nil {
		return "", err
	}
	return bufio.NewReader(conn).ReadString('\n')
}

// A request lands after its caller has given up. Whatever it created is in the
// store now, and a driver has to take care of it.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	store := newStore()
	defer store.Close()

	proxy, err := netfault.New(store.Addr().String())
	if err != nil {
		panic(err)
	}
	defer proxy.Close()
	conn, err := net.Dial("tcp", proxy.Addr())
	if err != nil {
		panic(err)
	}

	proxy.Freeze(netfault.Both)
	gaveUp := make(chan error)
	go func() {
		_, err := call(conn, "create /lock/1")
		gaveUp <- err
	}()
	if err := proxy.WaitHeld(ctx, netfault.Up); err != nil {
		panic(err)
	}
	conn.Close() // the caller's deadline, say
	fmt.Println("caller failed:", <-gaveUp != nil)
	fmt.Println("applied so far:", len(store.applied))

	if err := proxy.Heal(); err != nil {
		panic(err)
	}
	fmt.Println("applied later:", <-store.applied)

	fmt.Println("connections left:", proxy.WaitConns(ctx, 0) != nil)
	// Output:
	// caller failed: true
	// applied so far: 0
	// applied later: create /lock/1
	// connections left: false
}

// A request is applied and its reply is lost: what the caller cannot tell from
// a request that never arrived.
func ExampleControl_DropNextReply() {
	store := newStore()
	defer store.Close()
	proxy, err := netfault.New(store.Addr().String())
	if err != nil {
		panic(err)
	}
	defer proxy.Close()

	proxy.DropNextReply()
	for range 2 {
		conn, err := net.Dial("tcp", proxy.Addr())
		if err != nil {
			panic(err)
		}
		_, err = call(conn, "create /lock/1")
		fmt.Printf("applied: %s; reply lost: %t\n", <-store.applied, err != nil)
		conn.Close()
	}
	// Output:
	// applied: create /lock/1; reply lost: true
	// applied: create /lock/1; reply lost: false
}

// A request takes the long way: its caller gives up at its deadline, the next request
// is answered, and then the first one lands. In a harness, Gate.Hold is what
// Harness.Hold calls.
func ExampleGate() {
	store := newStore()
	defer store.Close()
	gate := netfault.NewGate(new(net.Dialer).DialContext, func(request []byte) bool {
		return bytes.HasPrefix(request, []byte("create"))
	})
	send := func(limit time.Duration, request string) error { // as a driver that has a connection for each request
		conn, err := gate.DialContext(context.Background(), "tcp", store.Addr().String())
		if err != nil {
			return err
		}
		defer conn.Close()
		if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
			return err
		}
		_, err = call(conn, request)
		return err
	}

	release := gate.Hold()
	fmt.Println("given up:", errors.Is(send(100*time.Millisecond, "create /lock/1"), os.ErrDeadlineExceeded))
	fmt.Println("the next:", send(20*time.Second, "delete /lock/1"))
	release()
	fmt.Println("applied:", <-store.applied)
	fmt.Println("applied:", <-store.applied)
	// Output:
	// given up: true
	// the next: <nil>
	// applied: delete /lock/1
	// applied: create /lock/1
}

// One client's view of a cluster: one member is cut off, then all of them.
func ExampleGroup() {
	one, two := newStore(), newStore()
	defer one.Close()
	defer two.Close()
	group, err := netfault.NewGroup(one.Addr().String(), two.Addr().String())
	if err != nil {
		panic(err)
	}
	defer group.Close()

	reachable := func() (n int) {
		for _, addr := range group.Addrs() {
			conn, err := net.Dial("tcp", addr)
			if err != nil {
				continue
			}
			if _, err := call(conn, "ping"); err == nil {
				n++
			}
			conn.Close()
		}
		return n
	}
	fmt.Println(reachable())
	group.Proxy(0).Cut()
	fmt.Println(reachable())
	group.Cut()
	fmt.Println(reachable())
	if err := group.Heal(); err != nil {
		panic(err)
	}
	fmt.Println(reachable())
	// Output:
	// 2
	// 1
	// 0
	// 2
}
