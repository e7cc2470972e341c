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

// env names the variable that makes this program run proxies. Its value is a task.
const env = "COORDKIT_BENCH_DELAY"

// task is the proxies to run.
type task struct {
	RTT     time.Duration
	Targets []string
}

// Proxies is a process with one proxy for each server. It ends with Close, or with
// this program.
type Proxies struct {
	// Addrs are the proxies' addresses, as host:port, in the order of the targets.
	Addrs []string
	// Close kills the process, which closes all connections.
	Close func() error
}

// Start starts this program again to run a proxy for each of targets, and returns
// when all listen. ctx bounds the start. The program calls [Main] first.
func Start(ctx context.Context, rtt time.Duration, targets []string) (*Proxies, error) {
	text, err := json.Marshal(task{rtt, targets})
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
	// An interrupt from the terminal goes to this program alone: it needs the
	// connections to end its sessions.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if _, err := cmd.StdinPipe(); err != nil { // ends with this program
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	w := &Proxies{Close: sync.OnceValue(func() error {
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

// Main runs the proxies in a process that Start has started. In any other process it
// returns false at once.
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
	var run task
	if err := json.Unmarshal([]byte(text), &run); err != nil {
		return err
	}
	addrs := []string{}
	for _, target := range run.Targets {
		p, err := Listen(target, run.RTT)
		if err != nil {
			return err
		}
		addrs = append(addrs, p.Addr())
	}
	if err := json.NewEncoder(os.Stdout).Encode(addrs); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, os.Stdin) // until the program that started this one ends or kills it
	return err
}
