package testserver

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// EnvPgBouncer names the environment variable that names a directory to run
// PgBouncer from instead of what is unpacked: / if it is installed.
const EnvPgBouncer = "COORDKIT_PGBOUNCER"

var pgbouncerServer = debianServer{
	name:     "pgbouncer",
	override: EnvPgBouncer,
	program:  "usr/sbin/pgbouncer",
	packages: []DebianPackage{{
		Name: "pgbouncer", Version: "1.18.0-1+deb12u1",
		SHA256: "b8468c31f94596da0967b1a27980a0a036268eb8e53d3e647651bd7b82b6f65e",
	}, {
		Name: "libc-ares2", Version: "1.18.1-3",
		SHA256: "087fd5c2ac883202e1786ab45617cdab7f77bc7f060d58cca177ddf6b6c3fa73",
	}, {
		Name: "libevent-2.1-7", Version: "2.1.12-stable-8+deb12u1",
		SHA256: "95a025ae2548aed9dbb0f0a0215b0483b7fa43db1d4f1f318f013f2ea84987c3",
	}},
}

// PgBouncerOptions says how to run PgBouncer. The zero value pools connections to
// the first member for the length of a transaction.
type PgBouncerOptions struct {
	// Member is the index of the member that it connects to.
	Member int
	// ExtraConfig is further settings, and takes precedence.
	ExtraConfig map[string]string
}

// PgBouncer is a running PgBouncer on loopback, in front of a [Postgres]. Clients
// talk to it without TLS. Its methods may be called from any goroutine.
type PgBouncer struct{ databases }

// NewPgBouncer starts a PgBouncer in front of a server and returns when that can be
// reached through it. PgBouncer is unpacked first if need be. ctx bounds that, not
// its life, which ends with Close or with this program.
func NewPgBouncer(ctx context.Context, postgres *Postgres, opts PgBouncerOptions) (*PgBouncer, error) {
	root, _, err := pgbouncerServer.get(ctx, io.Discard)
	if err != nil {
		return nil, err
	}
	var p *PgBouncer
	err = setUp("pgbouncer", func(c *cluster) error {
		p = &PgBouncer{databases{cluster: c, client: postgresClient(postgres.bin, postgres.client.env)}}
		ports, err := p.reservePorts(1, reservePort)
		if err != nil {
			return err
		}
		config, err := p.configure(ports[0], postgres, opts)
		if err != nil {
			return err
		}
		cmd := p.command(0, filepath.Join(root, pgbouncerServer.program), libraryPath(root), []string{config})
		cmd.unprivileged = true
		return p.serve(ctx, cmd, ports[0])
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// configure writes the files of the configuration and returns the main one's path.
func (p *PgBouncer) configure(port *reservedPort, postgres *Postgres, opts PgBouncerOptions) (string, error) {
	host, serverPort, err := net.SplitHostPort(postgres.Members[opts.Member].endpoint)
	if err != nil {
		return "", err
	}
	users := filepath.Join(p.dir.path, "users.txt")
	config := map[string]string{
		"listen_addr":     "127.0.0.1",
		"listen_port":     strconv.Itoa(port.number),
		"unix_socket_dir": "",
		"auth_type":       "scram-sha-256",
		"auth_file":       users,
		"admin_users":     string(Admin),
		"pool_mode":       "transaction",
	}
	if files := postgres.TLS; files != nil {
		maps.Copy(config, map[string]string{
			"server_tls_sslmode": "verify-full",
			"server_tls_ca_file": files.CA, "server_tls_cert_file": files.ClientCert, "server_tls_key_file": files.ClientKey,
		})
	}
	maps.Copy(config, opts.ExtraConfig)

	var logins strings.Builder
	for _, user := range []DatabaseUser{Admin, Owner, Limited} {
		fmt.Fprintf(&logins, "%q %q\n", user, DatabasePassword)
	}
	if err := os.WriteFile(users, []byte(logins.String()), 0o600); err != nil {
		return "", err
	}
	text := fmt.Sprintf("[databases]\n%s = host=%s port=%s\n[pgbouncer]\n", Database, host, serverPort)
	text += strings.Join(settings(config, "%s = %s\n"), "")
	path := filepath.Join(p.dir.path, "pgbouncer.ini")
	return path, os.WriteFile(path, []byte(text), 0o600)
}
