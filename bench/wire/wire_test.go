package wire_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/coordkit/coordkit/bench/wire"
)

func Example() {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	p, err := wire.Listen(server.Listener.Addr().String(), wire.HTTP)
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{Transport: new(http.Transport)}
	for _, path := range []string{"/v1/kv/a", "/v1/session/renew/b", "/v1/txn"} {
		resp, err := client.Get("http://" + p.Addr() + path)
		if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
	}
	if err := p.Close(); err != nil { // a request may be counted after its answer has come
		fmt.Println(err)
		return
	}
	fmt.Println(p.Requests(), "requests")
	// Output: 2 requests
}

// frame is what a client of ZooKeeper sends: its length, number and the rest.
func frame(number int32, rest string) string {
	var b bytes.Buffer
	_ = binary.Write(&b, binary.BigEndian, int32(4+len(rest)))
	_ = binary.Write(&b, binary.BigEndian, number)
	return b.String() + rest
}

func TestZooKeeper(t *testing.T) {
	said := frame(0, "connect") + frame(1, "create") + frame(-2, "ping") + frame(2, strings.Repeat("x", 5000)) + frame(-8, "watches") + frame(-2000, "numbered from below")
	if n := count(wire.ZooKeeper, said+"\x00\x00"); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
}

func TestGRPC(t *testing.T) {
	var said bytes.Buffer
	said.WriteString(http2.ClientPreface)
	w := http2.NewFramer(&said, nil)
	must(t, w.WriteSettings())
	message := func(size int) []byte {
		return binary.BigEndian.AppendUint32([]byte{0}, uint32(size))
	}
	var fields bytes.Buffer
	enc := hpack.NewEncoder(&fields)
	open := func(stream uint32, path string) {
		fields.Reset()
		must(t, enc.WriteField(hpack.HeaderField{Name: ":method", Value: "POST"}))
		must(t, enc.WriteField(hpack.HeaderField{Name: ":path", Value: path}))
		must(t, w.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: fields.Bytes(), EndHeaders: true}))
	}
	open(1, "/etcdserverpb.KV/Txn")
	must(t, w.WriteData(1, true, append(message(3), "abc"...)))
	open(3, "/etcdserverpb.Lease/LeaseKeepAlive")
	must(t, w.WriteData(3, false, append(message(2), "ab"...)))
	open(5, "/etcdserverpb.Watch/Watch") // two messages, in pieces
	must(t, w.WriteData(5, false, message(4)[:2]))
	must(t, w.WriteData(5, false, append(message(4)[2:], "ab"...)))
	must(t, w.WriteData(5, false, append([]byte("cd"), message(0)...)))
	if n := count(wire.GRPC, said.String()); n != 3 {
		t.Errorf("%d requests, want 3", n)
	}
}

func count(read wire.Reader, said string) (n int) {
	read(strings.NewReader(said), func() { n++ })
	return n
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestProxyPassesWhatItDoesNotUnderstand(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, _ = io.Copy(c, c)
			_ = c.Close()
		}
	}()
	p, err := wire.Listen(l.Addr().String(), func(io.Reader, func()) {})
	must(t, err)
	c, err := net.Dial("tcp", p.Addr())
	must(t, err)
	defer c.Close()
	const text = "whatever it is"
	_, err = io.WriteString(c, text)
	must(t, err)
	back := make([]byte, len(text))
	if _, err := io.ReadFull(c, back); err != nil || string(back) != text {
		t.Errorf("%q came back, %v", back, err)
	}
	must(t, p.Close())
	if _, err := c.Read(back); err == nil {
		t.Error("the connection is open though the proxy is closed")
	}
}
