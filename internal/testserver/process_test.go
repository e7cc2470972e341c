package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// startShell runs a shell script as a server.
func startShell(t *testing.T, script string) *Process {
	t.Helper()
	dir, err := newRunDir()
	must(t, err)
	p, err := startProcess(command{
		name: "script",
		path: "/bin/sh",
		args: []string{"-c", script},
		dir:  dir,
		log:  filepath.Join(dir.path, "log"),
	})
	must(t, err)
	t.Cleanup(func() {
		must(t, p.close())
		must(t, dir.remove())
	})
	return p
}

func states(t *testing.T, p *Process) string {
	t.Helper()
	states, err := threadStates(p.PID())
	must(t, err)
	return string(states)
}

func gone(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

func TestFreezeAndThaw(t *testing.T) {
	p := startShell(t, "exec sleep 1000")
	for range 2 { // the second time changes nothing
		must(t, p.Freeze())
		if got := states(t, p); strings.Trim(got, "T") != "" {
			t.Fatalf("thread states after Freeze: %q, want all T", got)
		}
	}
	if err := p.serving(); !errors.Is(err, errFrozen) {
		t.Fatalf("serving while frozen: %v", err)
	}
	for range 2 {
		must(t, p.Thaw())
		if got := states(t, p); strings.Contains(got, "T") {
			t.Fatalf("thread states after Thaw: %q, want no T", got)
		}
	}
	if err := p.serving(); err != nil {
		t.Fatal(err)
	}
}

func TestKillWhileFrozen(t *testing.T) {
	p := startShell(t, "exec sleep 1000")
	pid := p.PID()
	must(t, p.Freeze())
	must(t, p.Kill())
	if !gone(pid) {
		t.Fatalf("process %d is there after Kill", pid)
	}
	must(t, p.Kill())
	for name, op := range map[string]func() error{"Freeze": p.Freeze, "Thaw": p.Thaw} {
		if err := op(); !errors.Is(err, errNotRunning) {
			t.Errorf("%s of a killed process: %v, want %v", name, err, errNotRunning)
		}
	}
}

func TestRestart(t *testing.T) {
	prepare := map[string]func(*Process) error{
		"running": func(*Process) error { return nil },
		"killed":  (*Process).Kill,
		"frozen":  (*Process).Freeze,
	}
	for name, prepare := range prepare {
		t.Run(name, func(t *testing.T) {
			p := startShell(t, "exec sleep 1000")
			pid := p.PID()
			must(t, prepare(p))
			must(t, p.Restart())
			if !gone(pid) {
				t.Errorf("process %d is there after Restart", pid)
			}
			if err := p.serving(); err != nil {
				t.Error(err)
			}
			must(t, p.Freeze())
			must(t, p.Thaw())
		})
	}
}

func TestRestartAfterClose(t *testing.T) {
	p := startShell(t, "exec sleep 1000")
	must(t, p.close())
	if err := p.Restart(); !errors.Is(err, errClosed) {
		t.Fatalf("Restart: %v, want %v", err, errClosed)
	}
	if !gone(p.PID()) {
		t.Fatal("the process runs after close")
	}
}

// The parent-death signal comes with the end of a thread, so a server must not
// depend on the thread of whoever starts it.
func TestServerOutlivesTheThreadThatStartsIt(t *testing.T) {
	p := startShell(t, "exec sleep 1000")
	thread := onDoomedThread(func() {
		if err := p.Restart(); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "the thread has ended", func() bool {
		_, err := os.Stat(filepath.Join("/proc/self/task", strconv.Itoa(thread)))
		return isGone(err)
	})
	must(t, p.Freeze()) // which a process with a deadly signal pending does not do
	must(t, p.Thaw())
}

// onDoomedThread runs f on a thread that ends after it, and returns its id.
func onDoomedThread(f func()) int {
	id := make(chan int)
	go func() {
		runtime.LockOSThread() // and no unlock, which ends the thread
		thread := syscall.Gettid()
		if thread == os.Getpid() {
			// The main thread never ends. While it is held here the next
			// goroutine gets another one.
			id <- onDoomedThread(f)
			runtime.UnlockOSThread()
			return
		}
		f()
		id <- thread
	}()
	return <-id
}

// What the process started belongs to its group and goes with it.
func TestKillTakesTheGroup(t *testing.T) {
	p := startShell(t, "sleep 1000 & echo $!; exec sleep 1000")
	var other int
	eventually(t, "the script tells what it started", func() bool {
		_, err := fmt.Sscan(p.LogTail(), &other)
		return err == nil
	})
	if isDead(other) {
		t.Fatalf("process %d has ended by itself", other)
	}
	must(t, p.Kill())
	eventually(t, "the group is gone", func() bool { return isDead(other) })
}

func TestLogged(t *testing.T) {
	p := startShell(t, "echo first; seq 10000; exec sleep 1000")
	eventually(t, "the script has said everything", func() bool { return p.Logged("\n10000\n") })
	if !p.Logged("first") || p.Logged("second") {
		t.Errorf("logged first: %v, second: %v; want true and false", p.Logged("first"), p.Logged("second"))
	}
}

func TestWaitTellsHowItEnded(t *testing.T) {
	p := startShell(t, "echo out of luck >&2; exit 3")
	err := p.Wait(patient(t))
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("Wait: %v, want exit status 3", err)
	}
	for _, part := range []string{"script", "out of luck"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("Wait: %v, expected %q in it", err, part)
		}
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	p := startShell(t, "exec sleep 1000")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("Wait: %v, want %v", err, context.Canceled)
	}
}

func TestLogTailIsBounded(t *testing.T) {
	p := startShell(t, "i=0; while [ $i -lt 2000 ]; do i=$((i+1)); echo line $i; done")
	if err := p.Wait(patient(t)); err == nil {
		t.Fatal("Wait does not tell that the process ended")
	}
	lines := strings.Split(p.LogTail(), "\n")
	if len(lines) != tailLines || lines[0] != "line 1971" || lines[tailLines-1] != "line 2000" {
		t.Errorf("got %q, want lines 1971 to 2000", lines)
	}
}

func TestStartOfNoProgram(t *testing.T) {
	dir, err := newRunDir()
	must(t, err)
	defer func() { must(t, dir.remove()) }()
	_, err = startProcess(command{name: "nothing", path: "/no/such/program", dir: dir, log: filepath.Join(dir.path, "log")})
	if err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Fatalf("start: %v, expected an error that names the program", err)
	}
}
