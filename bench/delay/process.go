package delay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// env names the variable that makes this program a process of proxies.
const env = "COORDKIT_BENCH_DELAY"

// orders is what it says.
type orders struct {
	RTT     time.Duration
	Targets []string
}

// Way is a process of proxies, one for each server. It ends with Close, or with
// this program.
type Way struct {
	// Addrs are where clients connect, as host:port, in the order of the servers.
	Addrs []string
	// Close ends the process and all connections.
	Close func() error
}

// Start starts this program again, as a process of proxies before the servers at
// targets, and returns when they listen. ctx bounds that.
func Start(ctx context.Context, rtt time.Duration, targets []string) (*Way, error) {
	text, err := json.Marshal(orders{rtt, targets})
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), env+"="+string(text))
	cmd.Stderr = os.Stderr
	// A terminal's interrupt goes to this program alone, which needs its connections
	// to tidy up.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if _, err := cmd.StdinPipe(); err != nil { // its end is this program's
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	w := &Way{Close: sync.OnceValue(func() error {
		err := cmd.Process.Kill()
		_ = cmd.Wait() // which tells of the kill
		return err
	})}
	stop := context.AfterFunc(ctx, func() { _ = w.Close() })
	defer stop()
	if err := json.NewDecoder(out).Decode(&w.Addrs); err != nil {
		return nil, errors.Join(fmt.Errorf("starting the proxies: %w", err), context.Cause(ctx), w.Close())
	}
	return w, nil
}

// Main is the whole of a process that Start has started, and reports false in any
// other.
func Main() bool {
	text, ok := os.LookupEnv(env)
	if !ok {
		return false
	}
	if err := serve(text); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

func serve(text string) error {
	var o orders
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	addrs := []string{}
	for _, target := range o.Targets {
		p, err := Listen(target, o.RTT)
		if err != nil {
			return err
		}
		addrs = append(addrs, p.Addr())
	}
	if err := json.NewEncoder(os.Stdout).Encode(addrs); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin) // until the other program has ended, or kills this one
	return err
}
