package testserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"syscall"
)

// tool is a program that helps to get a server and then ends, such as a
// compiler.
type tool struct {
	dir          string    // to run it in
	env          []string  // nil means this program's own
	stdin        io.Reader // nil means that there is none
	unprivileged bool      // runs it as [unprivileged] says
	progress     io.Writer // is shown what the tool says
}

// run runs the program to its end. When it fails the error quotes all it said.
func (t tool) run(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env, cmd.Stdin = t.dir, t.env, t.stdin
	var said bytes.Buffer
	cmd.Stdout = io.MultiWriter(&said, t.progress)
	cmd.Stderr = cmd.Stdout
	// What it starts must end with it, so ctx kills the whole group, and the
	// kernel kills it with this program.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if t.unprivileged {
		unprivileged(cmd)
	}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	runtime.LockOSThread() // as in command.start
	defer runtime.UnlockOSThread()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s %s in %s: %w\n%s", name, args[0], t.dir, errors.Join(err, ctx.Err()), said.Bytes())
	}
	return nil
}
