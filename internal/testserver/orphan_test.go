package testserver

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// childEnv makes the test binary a program that starts a server and then ends
// without closing it, as it is told on its standard input. Its value is the
// store's name and a word that says what to do with the server.
const childEnv = "COORDKIT_TESTSERVER_CHILD"

// childReport is what the program prints once its server serves.
type childReport struct {
	PID  int    // of the server
	Dir  string // of the servers
	Work string // that the server's children work in
}

func runChild() {
	name, setup, _ := strings.Cut(os.Getenv(childEnv), " ")
	at := slices.IndexFunc(stores, func(s store) bool { return s.name == name })
	f, err := stores[at].start(context.Background(), 1, reservePort)
	if err != nil {
		panic(err)
	}
	if setup == "freeze" {
		if err := f.members[0].Freeze(); err != nil {
			panic(err)
		}
	}
	report := childReport{PID: f.members[0].PID(), Dir: f.dir.path, Work: f.members[0].command.workDir}
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

// However the program ends, the kernel kills its server, and its directory is
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
		t.Run(c.name, func(t *testing.T) { diesWith(t, stores[0], c.setup, c.end) })
	}
}

// What the kernel does for one server it does for all, so the hardest way to end
// will do for the others.
func TestEveryServerDiesWithTheProgram(t *testing.T) {
	forEachStore(t, func(t *testing.T, s store) {
		diesWith(t, s, "freeze", func(c *exec.Cmd, _ io.Writer) error { return c.Process.Kill() })
	})
}

// diesWith ends a program that runs a server of s and checks what it leaves.
func diesWith(t *testing.T, s store, setup string, end func(child *exec.Cmd, stdin io.Writer) error) {
	// Directories of its own, lest another test's start sweeps them first.
	t.Setenv("TMPDIR", t.TempDir())
	child, stdin, report := startChild(t, s.name+" "+setup)

	if !runsIn(report.PID, report.Dir) {
		t.Fatalf("process %d is not the server of %s", report.PID, report.Dir)
	}
	must(t, Sweep())
	if _, err := os.Stat(report.Dir); err != nil {
		t.Fatalf("a directory in use was swept: %v", err)
	}

	segment := ""
	if report.Work != "" {
		segment = sharedMemory(t, report.Work)
	}
	must(t, end(child, stdin))
	if err := child.Wait(); err == nil {
		t.Fatal("the program ended well, expected that it died")
	}
	eventually(t, "the server is gone", func() bool { return isDead(report.PID) })
	if report.Work != "" {
		eventually(t, "its children are gone", func() bool {
			pids, err := processesIn(report.Work)
			return err == nil && len(pids) == 0
		})
	}
	if _, err := os.Stat(report.Dir); err != nil {
		t.Fatalf("nothing is left to sweep: %v", err)
	}
	next, err := newRunDir()
	must(t, err)
	must(t, next.remove())
	left, err := os.ReadDir(os.TempDir())
	must(t, err)
	if len(left) > 0 {
		t.Fatalf("the next start left %v", left)
	}
	if segment != "" && slices.Contains(segments(t), segment) {
		t.Errorf("the next start left the shared memory %s", segment)
	}
}

func startChild(t *testing.T, task string) (*exec.Cmd, io.Writer, childReport) {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), childEnv+"="+task)
	stdin, err := child.StdinPipe()
	must(t, err)
	stdout, err := child.StdoutPipe()
	must(t, err)
	var stderr strings.Builder
	child.Stderr = &stderr
	must(t, child.Start())
	var report childReport
	if err := json.NewDecoder(stdout).Decode(&report); err != nil {
		t.Fatalf("the program did not start a server: %v: %v\n%s", err, child.Wait(), &stderr)
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
