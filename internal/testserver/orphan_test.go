package testserver

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// childEnv makes the test binary a program that starts an etcd and then ends
// without closing it, as it is told on its standard input.
const childEnv = "COORDKIT_TESTSERVER_CHILD"

// childReport is what the program prints once its etcd serves.
type childReport struct {
	PID int    // of the etcd
	Dir string // of the servers
}

func runChild() {
	cluster, err := NewEtcd(context.Background(), EtcdOptions{ExtraArgs: []string{"--unsafe-no-fsync"}})
	if err != nil {
		panic(err)
	}
	if os.Getenv(childEnv) == "freeze" {
		if err := cluster.Member(0).Freeze(); err != nil {
			panic(err)
		}
	}
	report := childReport{PID: cluster.Member(0).PID(), Dir: cluster.dir.path}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		panic(err)
	}
	word, err := bufio.NewReader(os.Stdin).ReadString('\n')
	switch strings.TrimSpace(word) {
	case "panic":
		panic("as told")
	case "exit":
		os.Exit(3)
	default:
		panic(err) // the test has gone
	}
}

// However the program ends, the kernel kills its etcd, and its directory is
// swept by the next start.
func TestServersDieWithTheProgram(t *testing.T) {
	cases := []struct {
		name, setup string
		end         func(child *exec.Cmd, stdin io.Writer) error
	}{
		{"killed", "serve", func(c *exec.Cmd, _ io.Writer) error { return c.Process.Kill() }},
		{"killed with a frozen server", "freeze", func(c *exec.Cmd, _ io.Writer) error { return c.Process.Kill() }},
		{"interrupted", "serve", func(c *exec.Cmd, _ io.Writer) error { return c.Process.Signal(os.Interrupt) }},
		{"panics", "serve", func(_ *exec.Cmd, in io.Writer) error { _, err := io.WriteString(in, "panic\n"); return err }},
		{"exits", "serve", func(_ *exec.Cmd, in io.Writer) error { _, err := io.WriteString(in, "exit\n"); return err }},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			// Directories of its own, lest another test's start sweeps them first.
			t.Setenv("TMPDIR", t.TempDir())
			child, stdin, report := startChild(t, c.setup)

			if !runsIn(report.PID, report.Dir) {
				t.Fatalf("process %d is not the etcd of %s", report.PID, report.Dir)
			}
			must(t, Sweep())
			if _, err := os.Stat(report.Dir); err != nil {
				t.Fatalf("a directory in use was swept: %v", err)
			}

			must(t, c.end(child, stdin))
			if err := child.Wait(); err == nil {
				t.Fatal("the program ended well, expected that it died")
			}
			eventually(t, "the etcd is gone", func() bool { return isDead(report.PID) })
			if _, err := os.Stat(report.Dir); err != nil {
				t.Fatalf("nothing is left to sweep: %v", err)
			}
			next, err := newRunDir()
			must(t, err)
			defer func() { must(t, next.remove()) }()
			if _, err := os.Stat(report.Dir); !errors.Is(err, fs.ErrNotExist) {
				t.Fatalf("the next start left %s: %v", report.Dir, err)
			}
		})
	}
}

func startChild(t *testing.T, setup string) (*exec.Cmd, io.Writer, childReport) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+setup)
	stdin, err := child.StdinPipe()
	must(t, err)
	stdout, err := child.StdoutPipe()
	must(t, err)
	var stderr strings.Builder
	child.Stderr = &stderr
	must(t, child.Start())
	var report childReport
	if err := json.NewDecoder(stdout).Decode(&report); err != nil {
		t.Fatalf("the program did not start an etcd: %v: %v\n%s", err, child.Wait(), &stderr)
	}
	return child, stdin, report
}

// isDead reports whether the process is gone, or has nothing left but an exit
// status that its new parent has yet to collect.
func isDead(pid int) bool {
	states, err := threadStates(pid)
	return isGone(err) || err == nil && strings.Trim(string(states), "ZX") == ""
}

// runsIn reports whether the process was started on the directory.
func runsIn(pid int, dir string) bool {
	args, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	return err == nil && strings.Contains(string(args), dir)
}

// A cluster that cannot start leaves no process and no directory.
func TestFailedStartLeavesNothing(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	_, err := NewEtcd(patient(t), EtcdOptions{ExtraArgs: []string{"--no-such-flag"}})
	if err == nil {
		t.Fatal("etcd started with a flag it does not have")
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !strings.Contains(err.Error(), "no-such-flag") {
		t.Errorf("the error does not tell what etcd said: %v", err)
	}
	left, err := os.ReadDir(tmp)
	must(t, err)
	if len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	// All its children are gone, since none can be waited for.
	if _, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) {
		t.Errorf("a child process is left: %v", err)
	}
}
