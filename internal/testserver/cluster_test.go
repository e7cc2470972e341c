package testserver

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

func TestCloseRemovesAll(t *testing.T) {
	forEachStore(t, func(t *testing.T, s store) {
		t.Setenv("TMPDIR", t.TempDir())
		f, err := s.start(patient(t), s.most, reservePort)
		must(t, err)
		must(t, f.members[0].Freeze())
		for _, m := range f.members[1:min(2, s.most)] {
			must(t, m.Kill())
		}
		for range 2 {
			must(t, f.Close())
		}
		for i, m := range f.members {
			if !gone(m.PID()) {
				t.Errorf("member %d is there after Close", i)
			}
			if err := m.Restart(); !errors.Is(err, errClosed) {
				t.Errorf("member %d: Restart after Close: %v, want %v", i, err, errClosed)
			}
		}
		left, err := os.ReadDir(os.TempDir())
		must(t, err)
		if len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}

func TestSurvivesARestart(t *testing.T) {
	forEachStore(t, func(t *testing.T, s store) {
		f := begin(t, s, 1)
		f.put(t, 0, "k", "v")
		m := f.members[0]
		must(t, m.Kill())
		if err := m.WaitHealthy(patient(t)); !errors.Is(err, errKilled) {
			t.Errorf("WaitHealthy of a killed member: %v, want %v", err, errKilled)
		}
		if err := f.WaitHealthy(patient(t)); !errors.Is(err, errKilled) {
			t.Errorf("WaitHealthy of a killed cluster: %v, want %v", err, errKilled)
		}
		endpoint := strings.TrimPrefix(m.Endpoint(), "http://")
		if _, err := net.Dial("tcp", endpoint); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("dial a killed member: %v, want %v", err, syscall.ECONNREFUSED)
		}
		must(t, m.Restart())
		must(t, f.WaitHealthy(patient(t)))
		f.mustGet(t, 0, "k", "v")
		if leader := leaderOf(t, f); leader != 0 {
			t.Errorf("the leader is %d, want the only member", leader)
		}
	})
}

// Whoever has the port without reserving it, the cluster goes elsewhere.
func TestTakenPortIsGivenUp(t *testing.T) {
	forEachStore(t, func(t *testing.T, s store) {
		other, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		defer other.Close()
		reserved := 0
		f, err := s.start(patient(t), s.most, func() (*reservedPort, error) {
			port, err := reservePort()
			if reserved++; reserved == 1 && err == nil {
				port.number = other.Addr().(*net.TCPAddr).Port
			}
			return port, err
		})
		must(t, err)
		defer func() { must(t, f.Close()) }()
		if want := 2 * s.most * s.ports; reserved != want {
			t.Errorf("reserved %d ports, want %d, for each of two attempts half of them", reserved, want)
		}
	})
}

// A cluster that cannot start leaves no process and no directory.
func TestFailedStartLeavesNothing(t *testing.T) {
	forEachStore(t, func(t *testing.T, s store) {
		tmp := t.TempDir()
		t.Setenv("TMPDIR", tmp)
		err := s.broken(patient(t))
		if err == nil {
			t.Fatal("it started with an option that it does not have")
		}
		var exit *exec.ExitError
		if !errors.As(err, &exit) || !strings.Contains(err.Error(), "no-such-option") {
			t.Errorf("the error does not tell what the server said: %v", err)
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
	})
}

// Three members live through all that may happen to them. Each step begins with
// all of them healthy and leaves them so.
func TestThreeMembers(t *testing.T) {
	steps := []struct {
		name string
		test func(*testing.T, fixture)
	}{
		{"killed leader is replaced and rejoins", killedLeader},
		{"frozen leader is replaced and rejoins", frozenLeader},
		{"no majority, no leader", noMajority},
		{"crash is reported", crash},
		{"restart of all", restartOfAll},
	}
	forEachStore(t, func(t *testing.T, s store) {
		if s.most < 3 {
			return
		}
		f := begin(t, s, 3)
		for _, step := range steps {
			if !t.Run(step.name, func(t *testing.T) { step.test(t, f) }) {
				return
			}
		}
	})
}

func leaderOf(t *testing.T, f fixture) int {
	t.Helper()
	leader, err := f.Leader(patient(t))
	must(t, err)
	return leader
}

func killedLeader(t *testing.T, f fixture) {
	old := leaderOf(t, f)
	f.put(t, old, "before", "1")
	must(t, f.members[old].Kill())
	leader := leaderOf(t, f)
	if leader == old {
		t.Fatalf("the killed member %d leads", old)
	}
	must(t, f.WaitHealthy(patient(t))) // the two that run
	f.put(t, leader, "meanwhile", "2")

	must(t, f.members[old].Restart())
	must(t, f.WaitHealthy(patient(t)))
	f.mustGet(t, old, "before", "1")
	f.mustGet(t, old, "meanwhile", "2")
}

func frozenLeader(t *testing.T, f fixture) {
	old := leaderOf(t, f)
	must(t, f.members[old].Freeze())
	if got := states(t, f.members[old].Process); len(got) < 2 || strings.Trim(got, "T") != "" {
		t.Fatalf("thread states of the frozen member: %q, want several, all T", got)
	}
	leader := leaderOf(t, f)
	if leader == old {
		t.Fatalf("the frozen member %d leads", old)
	}
	if err := f.members[old].WaitHealthy(patient(t)); !errors.Is(err, errFrozen) {
		t.Errorf("WaitHealthy of a frozen member: %v, want %v", err, errFrozen)
	}
	must(t, f.WaitHealthy(patient(t)))
	f.put(t, leader, "without-it", "3")

	must(t, f.members[old].Thaw())
	must(t, f.WaitHealthy(patient(t)))
	f.mustGet(t, old, "without-it", "3")
}

func noMajority(t *testing.T, f fixture) {
	must(t, f.members[0].Freeze())
	must(t, f.members[1].Kill())
	for name, wait := range map[string]func(context.Context) error{
		"Leader":      func(ctx context.Context) error { _, err := f.Leader(ctx); return err },
		"WaitHealthy": f.WaitHealthy,
	} {
		// Long enough for several looks, and for the last one to notice.
		ctx, cancel := context.WithTimeout(t.Context(), 2*probeTimeout)
		if err := wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want %v", name, err, context.DeadlineExceeded)
		}
		cancel()
	}
	must(t, f.members[0].Thaw())
	leaderOf(t, f)
	must(t, f.members[1].Restart())
	must(t, f.WaitHealthy(patient(t)))
}

// A member that ends by itself is nothing to be silent about.
func crash(t *testing.T, f fixture) {
	m := f.members[1]
	must(t, syscall.Kill(m.PID(), syscall.SIGKILL))
	if err := m.Wait(patient(t)); err == nil {
		t.Error("Wait does not tell that the process ended")
	}
	if err := f.WaitHealthy(patient(t)); !errors.Is(err, errNotRunning) {
		t.Errorf("WaitHealthy: %v, want %v", err, errNotRunning)
	}
	must(t, m.Restart())
	must(t, f.WaitHealthy(patient(t)))
}

// Every member is down at once, and the data is still there when all return.
func restartOfAll(t *testing.T, f fixture) {
	f.put(t, 0, "at-last", "4")
	must(t, f.members[2].Freeze())
	for _, m := range f.members {
		must(t, m.Kill())
	}
	for _, m := range f.members {
		must(t, m.Restart())
	}
	must(t, f.WaitHealthy(patient(t)))
	for i := range f.members {
		f.mustGet(t, i, "at-last", "4")
	}
}
