// Package leader runs leaders in a process of its own, which can be killed.
package leader

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/work"
)

// env names the variable that makes this program a process of leaders.
const env = "COORDKIT_BENCH_LEAD"

// orders is what it says.
type orders struct {
	Store, Side string
	Dial        contest.Dial
	Keys        []string
}

// leading is what the process says when it leads.
const leading = "leading"

// Spawn starts this program again, as a process in which a side leads keys, each
// by a program of its own, and returns when it does. They begin one after the other
// within a TTL. kill ends it with SIGKILL
// and returns when it is gone. ctx bounds the start.
func Spawn(ctx context.Context, store string, d contest.Dial, side string, keys []string) (kill func() error, err error) {
	text, err := json.Marshal(orders{store, side, d, keys})
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
	in, err := cmd.StdinPipe() // its end is this program's
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	kill = sync.OnceValue(func() error {
		err := cmd.Process.Kill()
		_ = cmd.Wait() // which tells of the kill
		_ = in.Close()
		return err
	})
	said := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(out).ReadString('\n')
		said <- line
	}()
	select {
	case line := <-said:
		if line == leading+"\n" {
			return kill, nil
		}
		err = fmt.Errorf("the process of the leaders said %q", line)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	return nil, errors.Join(err, kill())
}

// Main is the whole of a process that Spawn has started, and reports false in
// any other. sides are those of a store.
func Main(sides func(store string) []contest.Side) bool {
	text, ok := os.LookupEnv(env)
	if !ok {
		return false
	}
	if err := lead(text, sides); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

func lead(text string, sides func(store string) []contest.Side) error {
	var o orders
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, s := range sides(o.Store) {
		if s.Name != o.Side {
			continue
		}
		for i, key := range o.Keys {
			if i > 0 {
				time.Sleep(o.Dial.TTL / time.Duration(len(o.Keys)))
			}
			p, err := s.Open(ctx, o.Dial.Of(i))
			if err != nil {
				return err
			}
			lock, err := work.Candidate(ctx, p, key)
			if err != nil {
				return err
			}
			if err := lock.Lock(ctx); err != nil {
				return err
			}
		}
		fmt.Println(leading)
		_, err := io.Copy(io.Discard, os.Stdin) // until the other program has ended, or kills this one
		return err
	}
	return fmt.Errorf("no side %q on %s", o.Side, o.Store)
}
