package testserver

import (
	"slices"
	"strings"
	"testing"
)

func TestMariaDBServes(t *testing.T) {
	mariadb := StartMariaDB(t, MariaDBOptions{ExtraConfig: map[string]string{"max-connections": "17"}})
	m := mariadb.Member(0)
	version, err := m.Query(patient(t), Owner, "SELECT version()")
	must(t, err)
	if !strings.HasPrefix(version, "10.11.") {
		t.Errorf("the server is MariaDB %s, want 10.11", version)
	}
	mustQuery(t, m, Owner, "17\t1\tutf8mb4", "SELECT @@max_connections, @@innodb_flush_log_at_trx_commit, @@character_set_database")

	mustQuery(t, m, Owner, "", "CREATE TABLE t (id bigint AUTO_INCREMENT PRIMARY KEY, word text)")
	mustRefuseQuery(t, m, Limited, "CREATE command denied", "CREATE TABLE u (id int)")
	mustRefuseQuery(t, m, Limited, "DROP command denied", "DROP TABLE t")
	mustQuery(t, m, Limited, "1\tsaid", "INSERT INTO t (word) VALUES ('said')", "SELECT id, word FROM t")
	mustRefuseQuery(t, m, Owner, "denied", "CREATE DATABASE another")
	mustQuery(t, m, Admin, "", "CREATE DATABASE another")
	users, err := m.Query(patient(t), Admin, "SELECT user FROM mysql.global_priv ORDER BY user")
	must(t, err)
	if want := []string{"admin", "limited", "mariadb.sys", "owner"}; !slices.Equal(strings.Fields(users), want) {
		t.Errorf("the users are %q, want %q", users, want)
	}
	if got, want := mariadb.URL(Limited), "mysql://limited:secret@"+m.Endpoint()+"/coord"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestMariaDBKill(t *testing.T) {
	mariadb := StartMariaDB(t, MariaDBOptions{})
	m := mariadb.Member(0)
	mustQuery(t, m, Owner, "", "CREATE TABLE t (n int)", "INSERT INTO t VALUES (1)")
	asleep := make(chan error, 1)
	go func() {
		_, err := m.Query(t.Context(), Owner, "BEGIN", "INSERT INTO t VALUES (2)", "SELECT sleep(1000)")
		asleep <- err
	}()
	eventually(t, "a client sleeps", func() bool {
		n, err := m.Query(patient(t), Admin, "SELECT count(*) FROM information_schema.processlist WHERE state = 'User sleep'")
		return err == nil && n == "1"
	})
	must(t, m.Kill())
	mustRefuse(t, "the client of a killed server", <-asleep, "Lost connection")
	must(t, m.Restart())
	must(t, m.WaitHealthy(patient(t)))
	mustQuery(t, m, Owner, "1", "SELECT n FROM t")
}

func TestMariaDBDemandsAClientCertificate(t *testing.T) {
	mariadb := StartMariaDB(t, MariaDBOptions{TLS: true})
	m := mariadb.Member(0)
	for range 2 { // as it does after a restart
		status, err := m.Query(patient(t), Owner, "SHOW STATUS LIKE 'Ssl_cipher'")
		must(t, err)
		if len(strings.Fields(status)) != 2 {
			t.Errorf("the connection has no cipher: %q", status)
		}
		for _, user := range []DatabaseUser{Admin, Owner, Limited} {
			for what, options := range map[string]string{"TLS": "--ssl", "a certificate": "--ssl-cert= --ssl-key="} {
				client := mariadb.client
				client.args = func(c sqlClient, endpoint string, user DatabaseUser, statements []string) []string {
					return slices.DeleteFunc(mariadb.client.args(c, endpoint, user, statements), func(arg string) bool {
						return slices.ContainsFunc(strings.Fields(options), func(o string) bool { return strings.HasPrefix(arg, o) })
					})
				}
				_, err := client.query(patient(t), m.Endpoint(), user, "SELECT 1")
				mustRefuse(t, "a client without "+what, err, "Access denied")
			}
		}
		must(t, m.Restart())
		must(t, m.WaitHealthy(patient(t)))
	}
}

func TestMariaDBOfAnotherDirectory(t *testing.T) {
	t.Setenv(EnvMariaDB, t.TempDir())
	_, err := NewMariaDB(t.Context(), MariaDBOptions{})
	mustRefuse(t, "a directory without a server", err, EnvMariaDB)
}
