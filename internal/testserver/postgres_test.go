package testserver

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// mustQuery has a member execute statements and compares what it returns.
func mustQuery(t *testing.T, m *DatabaseMember, user DatabaseUser, want string, statements ...string) {
	t.Helper()
	got, err := m.Query(patient(t), user, statements...)
	must(t, err)
	if got != want {
		t.Fatalf("%q as %s: got %q, want %q", statements, user, got, want)
	}
}

// mustRefuseQuery has a member execute a statement that it is to refuse.
func mustRefuseQuery(t *testing.T, m *DatabaseMember, user DatabaseUser, why, statement string) {
	t.Helper()
	_, err := m.Query(patient(t), user, statement)
	mustRefuse(t, statement+" as "+string(user), err, why)
}

func TestPostgresServes(t *testing.T) {
	postgres := StartPostgres(t, PostgresOptions{ExtraConfig: map[string]string{"max_connections": "17"}})
	m := postgres.Member(0)
	version, err := m.Query(patient(t), Owner, "SHOW server_version")
	must(t, err)
	if !strings.HasPrefix(version, "15.") {
		t.Errorf("the server is PostgreSQL %s, want 15", version)
	}
	mustQuery(t, m, Owner, "17", "SHOW max_connections")
	mustQuery(t, m, Owner, "on", "SHOW fsync")
	mustQuery(t, m, Admin, "on", "SHOW is_superuser")

	mustQuery(t, m, Owner, "", "CREATE TABLE t (id bigserial, word text)")
	mustRefuseQuery(t, m, Limited, "permission denied for schema public", "CREATE TABLE u ()")
	mustRefuseQuery(t, m, Limited, "must be owner of table t", "DROP TABLE t")
	mustQuery(t, m, Limited, "1\tsaid", "INSERT INTO t (word) VALUES ('said')", "SELECT id, word FROM t")
}

// A killed server leaves no backend that goes on, and nothing in the kernel once it
// is closed.
func TestPostgresKill(t *testing.T) {
	postgres := StartPostgres(t, PostgresOptions{})
	m := postgres.Member(0)
	mustQuery(t, m, Owner, "", "CREATE TABLE t (n int)")
	asleep := sleepInTransaction(t, m)
	must(t, m.Kill())
	if pids, err := processesIn(m.command.workDir); len(pids) > 0 || err != nil {
		t.Errorf("processes left after Kill: %v, %v", pids, err)
	}
	if err := <-asleep; err == nil || strings.Contains(err.Error(), "terminating connection") {
		t.Errorf("the client of a killed server: %v, want that it lost the connection with no word", err)
	}
	must(t, m.Restart())
	must(t, m.WaitHealthy(patient(t)))
	mustQuery(t, m, Owner, "0", "SELECT count(*) FROM t")

	id := sharedMemory(t, m.command.workDir)
	if !slices.Contains(segments(t), id) {
		t.Fatalf("the kernel knows no shared memory %s", id)
	}
	must(t, postgres.Close())
	if slices.Contains(segments(t), id) {
		t.Errorf("the shared memory %s is left", id)
	}
}

// sleepInTransaction begins a transaction that inserts a row and then sleeps until
// the server is killed, and returns when it sleeps.
func sleepInTransaction(t *testing.T, m *DatabaseMember) <-chan error {
	t.Helper()
	ended := make(chan error, 1)
	go func() {
		_, err := m.Query(t.Context(), Owner, "BEGIN; INSERT INTO t VALUES (1); SELECT pg_sleep(1000)")
		ended <- err
	}()
	eventually(t, "a backend sleeps", func() bool {
		n, err := m.Query(patient(t), Owner, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
		return err == nil && n == "1"
	})
	return ended
}

// sharedMemory returns the id of a server's shared memory.
func sharedMemory(t *testing.T, data string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
	must(t, err)
	return strings.Fields(strings.Split(string(text), "\n")[6])[1]
}

// segments returns the ids of all shared memory that the kernel keeps.
func segments(t *testing.T) (ids []string) {
	t.Helper()
	table, err := os.ReadFile("/proc/sysvipc/shm")
	must(t, err)
	for line := range strings.Lines(string(table)) {
		ids = append(ids, strings.Fields(line)[1])
	}
	return ids
}

// All processes of a frozen server stop.
func TestPostgresFreeze(t *testing.T) {
	m := StartPostgres(t, PostgresOptions{}).Member(0)
	must(t, m.Freeze())
	pids, err := processesIn(m.command.workDir)
	must(t, err)
	if len(pids) < 2 {
		t.Fatalf("the server's processes are %v, want several", pids)
	}
	for _, pid := range pids {
		if states, err := threadStates(pid); err != nil || strings.Trim(string(states), "T") != "" {
			t.Errorf("thread states of process %d: %q, %v, want all T", pid, states, err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), probeTimeout)
	defer cancel()
	if answer, err := m.Query(ctx, Owner, "SELECT 1"); err == nil {
		t.Errorf("a frozen server answers %q", answer)
	}
	must(t, m.Thaw())
	mustQuery(t, m, Owner, "1", "SELECT 1")
}

func TestPostgresStandby(t *testing.T) {
	postgres := StartPostgres(t, PostgresOptions{Standby: true})
	primary, standby := postgres.Member(0), postgres.Member(1)
	mustQuery(t, primary, Owner, "", "CREATE TABLE t (n int)", "SET synchronous_commit = remote_apply", "INSERT INTO t VALUES (1)")
	mustQuery(t, standby, Owner, "1", "SELECT n FROM t")
	mustRefuseQuery(t, standby, Owner, "read-only transaction", "INSERT INTO t VALUES (2)")

	// A commit waits for a standby that does not answer.
	must(t, standby.Freeze())
	inserted := make(chan error, 1)
	go func() {
		_, err := primary.Query(t.Context(), Owner, "INSERT INTO t VALUES (2)")
		inserted <- err
	}()
	eventually(t, "the commit waits", func() bool {
		n, err := primary.Query(patient(t), Owner, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
		return err == nil && n == "1"
	})
	must(t, standby.Thaw())
	must(t, <-inserted)
	if leader, err := postgres.Leader(patient(t)); leader != 0 || err != nil {
		t.Errorf("Leader: %d, %v", leader, err)
	}

	// A standby that was down catches up.
	must(t, standby.Restart())
	mustQuery(t, primary, Owner, "", "INSERT INTO t VALUES (3)")

	must(t, primary.Kill())
	must(t, postgres.Promote(patient(t)))
	mustQuery(t, standby, Owner, "4", "INSERT INTO t VALUES (4)", "SELECT count(*) FROM t")
	must(t, standby.Restart())
	must(t, standby.WaitHealthy(patient(t)))
	mustQuery(t, standby, Owner, "5", "INSERT INTO t VALUES (5)", "SELECT count(*) FROM t")
	if err := postgres.Promote(patient(t)); err == nil {
		t.Error("a primary was promoted")
	}
}

func TestPostgresURL(t *testing.T) {
	postgres := StartPostgres(t, PostgresOptions{Standby: true})
	for user, url := range map[DatabaseUser]string{
		Owner:   "postgres://owner:secret@" + strings.Join(postgres.Endpoints(), ",") + "/coord?target_session_attrs=read-write",
		Limited: "postgres://limited:secret@" + strings.Join(postgres.Endpoints(), ",") + "/coord?target_session_attrs=read-write",
	} {
		if got := postgres.URL(user); got != url {
			t.Errorf("got %s, want %s", got, url)
		}
		said, err := psql(patient(t), postgres, url, "SELECT current_user")
		if err != nil || said != string(user) {
			t.Errorf("%s: %q, %v", url, said, err)
		}
	}
}

// psql executes a statement at a URL.
func psql(ctx context.Context, postgres *Postgres, url, statement string) (string, error) {
	client := postgres.client
	client.args = func(sqlClient, string, DatabaseUser, []string) []string {
		return []string{"--no-psqlrc", "--no-align", "--tuples-only", "--dbname=" + url, "--command=" + statement}
	}
	return client.query(ctx, "", "", "")
}

func TestPostgresDemandsAClientCertificate(t *testing.T) {
	postgres := StartPostgres(t, PostgresOptions{TLS: true, Standby: true})
	mustQuery(t, postgres.Member(0), Owner, "t", "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
	url := postgres.Member(0).URL(Owner)
	for query, why := range map[string]string{
		"?sslmode=disable": "no encryption",
		"?sslmode=verify-full&sslcert=&sslrootcert=" + postgres.TLS.CA: "requires a valid client certificate",
	} {
		_, err := psql(patient(t), postgres, url+query, "SELECT 1")
		mustRefuse(t, query, err, why)
	}
}

// A directory that the environment names takes the place of what is unpacked.
func TestPostgresOfAnotherDirectory(t *testing.T) {
	t.Setenv(EnvPostgres, t.TempDir())
	_, err := NewPostgres(t.Context(), PostgresOptions{})
	mustRefuse(t, "a directory without a server", err, EnvPostgres)
}
