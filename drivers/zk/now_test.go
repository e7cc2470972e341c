//go:build unix

package zk

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

// What a connection does not take at once is returned, for somebody who can wait.
func TestBeginDoesNotWait(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer listener.Close()
	conn, err := net.Dial("tcp", listener.Addr().String())
	must(t, err)
	peer, err := listener.Accept()
	must(t, err)
	defer peer.Close()
	w := newWire(&link{}, conn, "somewhere", time.Minute)
	defer w.hurry.Stop()
	defer conn.Close()

	all := bytes.Repeat([]byte("0123456789abcdef"), 4<<20)
	rest := w.begin(all)
	if len(rest) == 0 || len(rest) == len(all) {
		t.Fatalf("%d of %d bytes are left, while nobody reads", len(rest), len(all))
	}
	if again := w.begin(rest[:1]); len(again) != 1 {
		t.Error("a full connection took a message")
	}
	go func() { _, _ = conn.Write(rest) }()
	got := make([]byte, len(all))
	_, err = io.ReadFull(peer, got)
	must(t, err)
	if !bytes.Equal(got, all) {
		t.Error("what came is not what was sent")
	}
	if rest := w.begin([]byte("more")); len(rest) != 0 {
		t.Errorf("%q is left, while there is room", rest)
	}
}
