package idle_test

import (
	"fmt"
	"net"
	"time"

	"github.com/coordkit/coordkit/drivers/internal/idle"
)

type conn struct{ net.Conn }

func (c *conn) Socket() net.Conn { return c.Conn }

func Example() {
	server, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	socket, err := net.Dial("tcp", server.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	set := idle.New[*conn](10, time.Minute)
	defer set.Close()
	set.Put(&conn{socket})
	_, ok := set.Take()
	_, another := set.Take()
	fmt.Println(ok, another)
	_ = socket.Close()
	// Output: true false
}
