package testserver

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
)

func startThree(t *testing.T) *Etcd {
	return StartEtcd(t, EtcdOptions{Members: 3, ExtraArgs: noFsync})
}

func leaderOf(t *testing.T, cluster *Etcd) int {
	t.Helper()
	leader, err := cluster.Leader(patient(t))
	must(t, err)
	return leader
}

// readAt reads from one member alone, which must know what the others wrote.
func readAt(t *testing.T, m *EtcdMember, key, want string) {
	t.Helper()
	config := m.cluster.ClientConfig()
	config.Endpoints = []string{m.Endpoint()}
	mustGet(t, connect(t, config), key, want)
}

func TestKilledLeaderIsReplacedAndRejoins(t *testing.T) {
	cluster := startThree(t)
	client := connect(t, cluster.ClientConfig())
	put(t, client, "before", "1")
	old := leaderOf(t, cluster)

	must(t, cluster.Member(old).Kill())
	if leader := leaderOf(t, cluster); leader == old {
		t.Fatalf("the killed member %d leads", old)
	}
	put(t, client, "meanwhile", "2")
	must(t, cluster.WaitHealthy(patient(t))) // the two that run

	must(t, cluster.Member(old).Restart())
	must(t, cluster.WaitHealthy(patient(t)))
	readAt(t, cluster.Member(old), "before", "1")
	readAt(t, cluster.Member(old), "meanwhile", "2")
}

func TestFrozenLeaderIsReplacedAndRejoins(t *testing.T) {
	cluster := startThree(t)
	client := connect(t, cluster.ClientConfig())
	old := leaderOf(t, cluster)

	must(t, cluster.Member(old).Freeze())
	if got := states(t, cluster.Member(old).Process); len(got) < 2 || strings.Trim(got, "T") != "" {
		t.Fatalf("thread states of the frozen member: %q, want several, all T", got)
	}
	if leader := leaderOf(t, cluster); leader == old {
		t.Fatalf("the frozen member %d leads", old)
	}
	if err := cluster.Member(old).WaitHealthy(patient(t)); !errors.Is(err, errFrozen) {
		t.Errorf("WaitHealthy of a frozen member: %v, want %v", err, errFrozen)
	}
	put(t, client, "meanwhile", "2")

	must(t, cluster.Member(old).Thaw())
	must(t, cluster.WaitHealthy(patient(t)))
	readAt(t, cluster.Member(old), "meanwhile", "2")
	leaderOf(t, cluster)
}

func TestNoMajorityNoLeader(t *testing.T) {
	cluster := startThree(t)
	must(t, cluster.Member(0).Freeze())
	must(t, cluster.Member(1).Kill())
	for name, wait := range map[string]func(context.Context) error{
		"Leader":      func(ctx context.Context) error { _, err := cluster.Leader(ctx); return err },
		"WaitHealthy": cluster.WaitHealthy,
	} {
		// Long enough for several looks.
		ctx, cancel := context.WithTimeout(t.Context(), 2*probeTimeout)
		if err := wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want %v", name, err, context.DeadlineExceeded)
		}
		cancel()
	}
	must(t, cluster.Member(0).Thaw())
	leaderOf(t, cluster)
}

// A member that ends by itself is nothing to be silent about.
func TestCrashIsReported(t *testing.T) {
	cluster := startThree(t)
	m := cluster.Member(1)
	must(t, syscall.Kill(m.PID(), syscall.SIGKILL))
	if err := m.Wait(patient(t)); err == nil {
		t.Error("Wait does not tell that the process ended")
	}
	if err := cluster.WaitHealthy(patient(t)); !errors.Is(err, errNotRunning) {
		t.Errorf("WaitHealthy: %v, want %v", err, errNotRunning)
	}
	must(t, m.Restart())
	must(t, cluster.WaitHealthy(patient(t)))
}

// Every member is down at once, and the data is still there when all return.
func TestClusterRestarts(t *testing.T) {
	cluster := startThree(t)
	client := connect(t, cluster.ClientConfig())
	put(t, client, "k", "v")
	must(t, cluster.Member(2).Freeze())
	for _, m := range cluster.Members {
		must(t, m.Kill())
	}
	for _, m := range cluster.Members {
		must(t, m.Restart())
	}
	must(t, cluster.WaitHealthy(patient(t)))
	mustGet(t, client, "k", "v")
}

func TestAgreedLeader(t *testing.T) {
	down := view{err: errNotRunning}
	for _, c := range []struct {
		name  string
		views []view
		want  int // -1: none
	}{
		{"all agree", []view{{self: 1, leader: 2, term: 5}, {self: 2, leader: 2, term: 5}, {self: 3, leader: 2, term: 5}}, 1},
		{"one is down", []view{down, {self: 2, leader: 2, term: 5}, {self: 3, leader: 2, term: 5}}, 1},
		{"no answer from the leader", []view{{self: 1, leader: 2, term: 5}, down, {self: 3, leader: 2, term: 5}}, -1},
		{"no majority", []view{down, {self: 2, leader: 2, term: 5}, down}, -1},
		{"none elected", []view{{self: 1, term: 5}, {self: 2, term: 5}, {self: 3, term: 5}}, -1},
		{"an old leader wakes", []view{{self: 1, leader: 1, term: 4}, {self: 2, leader: 2, term: 5}, {self: 3, leader: 2, term: 5}}, 1},
		{"another term", []view{{self: 1, leader: 1, term: 6}, {self: 2, leader: 1, term: 5}, down}, -1},
		{"all down", []view{down, down, down}, -1},
	} {
		got, ok := agreedLeader(c.views)
		if !ok {
			got = -1
		}
		if got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}
