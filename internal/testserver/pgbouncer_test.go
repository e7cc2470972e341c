package testserver

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"testing"
)

// A client holds a connection to the server only during a transaction.
func TestPgBouncerPoolsTransactions(t *testing.T) {
	postgres := StartPostgres(t, PostgresOptions{})
	bouncer := StartPgBouncer(t, postgres, PgBouncerOptions{ExtraConfig: map[string]string{"default_pool_size": "1"}})
	m := bouncer.Member(0)
	if got, want := bouncer.URL(Owner), "postgres://owner:secret@"+m.Endpoint()+"/coord"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	mustQuery(t, m, Owner, "owner", "SELECT current_user")
	mustQuery(t, m, Limited, "limited", "SELECT current_user")

	first := newSession(t, m)
	defer first.end()
	if got := first.say("SELECT 1;"); got != "1" {
		t.Fatalf("the first client got %q", got)
	}
	mustQuery(t, m, Owner, "2", "SELECT 2")
	first.say("BEGIN; SELECT 3;")
	second := make(chan error, 1)
	go func() {
		_, err := m.Query(t.Context(), Owner, "SELECT 4")
		second <- err
	}()
	eventually(t, "the second client waits", func() bool {
		pools, err := psql(patient(t), postgres, strings.Replace(m.URL(Admin), "/"+Database, "/pgbouncer", 1), "SHOW POOLS")
		return err == nil && strings.Contains(pools, "coord|owner|1|1|") // one is active, one waits
	})
	first.say("COMMIT; SELECT 5;")
	must(t, <-second)
}

func TestPgBouncerReachesAServerWithTLS(t *testing.T) {
	postgres := StartPostgres(t, PostgresOptions{TLS: true, Standby: true})
	bouncer := StartPgBouncer(t, postgres, PgBouncerOptions{Member: 1})
	mustQuery(t, bouncer.Member(0), Owner, "t\tt", "SELECT ssl, pg_is_in_recovery() FROM pg_stat_ssl WHERE pid = pg_backend_pid()")
}

// PgBouncer lives on its own: the server may be killed, and it may.
func TestPgBouncerKill(t *testing.T) {
	postgres := StartPostgres(t, PostgresOptions{})
	bouncer := StartPgBouncer(t, postgres, PgBouncerOptions{ExtraConfig: map[string]string{"server_login_retry": "1"}})
	m := bouncer.Member(0)
	must(t, postgres.Member(0).Restart())
	must(t, postgres.WaitHealthy(patient(t)))
	must(t, bouncer.WaitHealthy(patient(t)))
	must(t, m.Freeze())
	must(t, m.Kill())
	must(t, m.Restart())
	must(t, bouncer.WaitHealthy(patient(t)))
	mustQuery(t, m, Owner, "1", "SELECT 1")
}

// session is a client that stays connected.
type session struct {
	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
}

func newSession(t *testing.T, m *DatabaseMember) *session {
	t.Helper()
	cmd := exec.CommandContext(patient(t), m.client.path, m.client.args(m.client, m.endpoint, Owner, nil)...)
	cmd.Env = m.client.env
	stdin, err := cmd.StdinPipe()
	must(t, err)
	stdout, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	return &session{t, cmd, stdin, bufio.NewReader(stdout)}
}

func (s *session) end() {
	s.t.Helper()
	must(s.t, s.stdin.Close())
	must(s.t, s.cmd.Wait())
}

// say sends statements that return one row, and returns that.
func (s *session) say(statements string) string {
	s.t.Helper()
	_, err := io.WriteString(s.stdin, statements+"\n")
	must(s.t, err)
	line, err := s.stdout.ReadString('\n')
	must(s.t, err)
	return strings.TrimSuffix(line, "\n")
}
