package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process runs a variant on a mutant. It returns what the process printed and how much
// processor time it used; a process that uses more than limit, or none for a while, is killed.
func (b *binary) process(ctx context.Context, variant string, id int, limit time.Duration, env ...string) (string, time.Duration, error) {
	const memory = 4 << 20 // kB of address space
	seconds := int(limit/time.Second) + 1
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	run := "^TestVirtual$"
	if variant != whole {
		run += "/^" + strings.ReplaceAll(variant, " ", "_") + "$"
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", fmt.Sprintf("ulimit -t %d; ulimit -v %d; exec \"$@\"", seconds, memory), "sh",
		b.path, "-test.run="+run, "-test.timeout=0")
	cmd.Env = append(append(os.Environ(), "COORDKIT_MUTANT="+strconv.Itoa(id)), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		return "", 0, err
	}
	go killIdle(ctx, cmd.Process)
	err := cmd.Wait()
	return out.String(), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}

// killIdle kills a process that stands still: one that waits for a lock for ever, which
// the runtime does not take for a deadlock while there are timers. ctx ends with the process.
func killIdle(ctx context.Context, p *os.Process) {
	const looks = 10 // that see no progress
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for last, same := "", 0; same < looks; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Pid))
		f := strings.Fields(string(stat))
		if err != nil || len(f) < 15 {
			return
		}
		if now := f[13] + " " + f[14]; now != last { // ticks in user and system mode
			last, same = now, 0
		}
		same++
	}
	_ = p.Kill()
}

// judge says what the end of a process means.
func judge(out string, err error) outcome {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return outcome{kind: survived}
	case !errors.As(err, &exit):
		return outcome{kind: hung, detail: err.Error()}
	}
	if exit.ExitCode() == 3 {
		_, rule, _ := strings.Cut(out, "NOT VERIFIED ")
		rule, _, _ = strings.Cut(rule, "\n")
		return outcome{kind: unverified, detail: rule}
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return outcome{kind: hung, detail: status.Signal().String()}
	}
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "FAILED ") {
			return outcome{kind: failed, detail: line}
		}
		for _, sign := range []string{"panic: ", "fatal error: "} {
			if rest, ok := strings.CutPrefix(line, sign); ok {
				kind := crashed
				if strings.Contains(rest, "out of memory") || strings.Contains(rest, "cannot allocate") {
					kind = hung
				}
				return outcome{kind: kind, detail: line}
			}
		}
	}
	if _, test, ok := strings.Cut(out, "--- FAIL: "); ok {
		test, _, _ = strings.Cut(test, "\n")
		return outcome{kind: failed, detail: test}
	}
	return outcome{kind: crashed, detail: exit.String()}
}
