package netfault

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestMemoryListener(t *testing.T) {
	var network Memory
	l := network.Listen()
	addr := l.Addr().String()
	waiting, err := network.DialContext(t.Context(), "tcp", addr)
	must(t, err)
	must(t, l.Close())
	if _, err := waiting.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a connection that was not accepted, when the listener was closed: %v; want a reset", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept of a closed listener: %v", err)
	}
	if err := l.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Close of a closed listener: %v", err)
	}
	if _, err := network.DialContext(t.Context(), "tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("dialing where nobody listens: %v; want connection refused", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := network.DialContext(ctx, "tcp", network.Listen().Addr().String()); !errors.Is(err, context.Canceled) {
		t.Errorf("dialing under a canceled ctx: %v", err)
	}
	if again := network.Listen().Addr().String(); again == addr {
		t.Errorf("%s was given twice", addr)
	}
}

// In virtual time the proxies take no time, and a deadline passes as soon as
// everybody waits for it.
func TestMemoryInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var network Memory
		l := network.Listen()
		p, err := network.NewProxy(l.Addr().String())
		must(t, err)
		client, err := network.DialContext(t.Context(), "tcp", p.Addr())
		must(t, err)
		server, err := l.Accept()
		must(t, err)
		works(t, client, server)

		start := time.Now()
		p.Delay(Up, time.Hour)
		send(t, client, "slow")
		receive(t, server, "slow")
		if took := time.Since(start); took != time.Hour {
			t.Errorf("what is delayed by an hour took %v", took)
		}
		p.Freeze(Down)
		send(t, server, "late")
		must(t, client.SetReadDeadline(time.Now().Add(time.Minute)))
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a read of a frozen link ended with %v", err)
		}
		heal(t, p.Control)
		must(t, client.SetReadDeadline(time.Time{}))
		receive(t, client, "late")
		closeAll(t, p.Control)
		must(t, l.Close())
	})
}

// inMemory makes this package's tests use a Memory in place of TCP.
const inMemory = "NETFAULT_TEST_IN_MEMORY"

// Every test of the proxies passes on a Memory as well.
func TestEverythingInMemory(t *testing.T) {
	if os.Getenv(inMemory) != "" {
		return // it is this that runs
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v")
	cmd.Env = append(os.Environ(), inMemory+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
