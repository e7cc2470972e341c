package testserver

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// PostgresOptions says how to run a PostgreSQL server. The zero value is a single
// server without TLS that writes every commit to disk.
type PostgresOptions struct {
	// Standby adds a second server, which has every commit before the client is
	// told of it. It answers reads, and can be promoted; see [Postgres.Promote].
	// While it is down the commits of the primary wait, as in production.
	Standby bool
	// TLS makes the servers serve clients with TLS only, and demand a certificate of
	// them; see the field TLS of [Postgres] for what they need.
	TLS bool
	// ExtraConfig is further settings of every server, and takes precedence. To give
	// up durability for speed: {"fsync": "off"}.
	ExtraConfig map[string]string
}

// Postgres is a running PostgreSQL server on loopback, with a standby if it was
// asked for: member 0 is the first primary and member 1 its standby. Its methods may
// be called from any goroutine.
type Postgres struct {
	databases
	bin string // directory of the programs
}

// standbyName is what the primary knows the standby by.
const standbyName = "standby"

// NewPostgres starts a server, and a standby if it is asked for, and returns when
// they serve. The server is unpacked first if need be. ctx bounds that, not the
// server's life, which ends with Close or with this program.
func NewPostgres(ctx context.Context, opts PostgresOptions) (*Postgres, error) {
	return newPostgres(ctx, opts, reservePort)
}

func newPostgres(ctx context.Context, opts PostgresOptions, reserve reserver) (*Postgres, error) {
	root, template, err := postgresServer.get(ctx, io.Discard)
	if err != nil {
		return nil, err
	}
	bin := filepath.Join(root, filepath.Dir(postgresServer.program))
	var p *Postgres
	err = setUp("postgres", func(c *cluster) error {
		p = &Postgres{databases{cluster: c, client: postgresClient(bin, libraryPath(root))}, bin}
		return p.boot(ctx, template, opts, reserve)
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (p *Postgres) boot(ctx context.Context, template string, opts PostgresOptions, reserve reserver) error {
	config, err := p.config(opts)
	if err != nil {
		return err
	}
	members := 1
	if opts.Standby {
		members = 2
	}
	ports, err := p.reservePorts(members, reserve)
	if err != nil {
		return err
	}
	data, err := p.copyTemplate(ctx, template)
	if err != nil {
		return err
	}
	if err := p.start(ctx, data, ports[0], config); err != nil || !opts.Standby {
		return err
	}
	if data, err = p.backup(ctx); err != nil {
		return err
	}
	if err := p.start(ctx, data, ports[1], config); err != nil {
		return err
	}
	return p.synchronize(ctx)
}

// config returns the settings that all members have in common.
func (p *Postgres) config(opts PostgresOptions) (map[string]string, error) {
	access := filepath.Join(p.dir.path, "pg_hba.conf")
	config := map[string]string{
		"hba_file":                   access,
		"listen_addresses":           "127.0.0.1",
		"unix_socket_directories":    "",
		"timezone":                   "GMT",
		"log_timezone":               "GMT",
		"jit":                        "off",  // it takes a package of its own
		"dynamic_shared_memory_type": "mmap", // in the data directory, and removed with it
	}
	kind, demand := "host", ""
	if opts.TLS {
		files, err := p.secureClients()
		if err != nil {
			return nil, err
		}
		kind, demand = "hostssl", " clientcert=verify-ca"
		maps.Copy(config, map[string]string{
			"ssl": "on", "ssl_ca_file": files.CA, "ssl_cert_file": files.serverCert, "ssl_key_file": files.serverKey,
		})
	}
	maps.Copy(config, opts.ExtraConfig)
	rule := kind + " %s all 127.0.0.1/32 scram-sha-256" + demand + "\n"
	return config, os.WriteFile(access, []byte(fmt.Sprintf(rule, "all")+fmt.Sprintf(rule, "replication")), 0o600)
}

// start starts one more member and waits until it serves.
func (p *Postgres) start(ctx context.Context, data string, port *reservedPort, config map[string]string) error {
	args := append([]string{"-D", data, "-p", strconv.Itoa(port.number)}, settings(config, "--%s=%s")...)
	cmd := p.command(len(p.Members), filepath.Join(p.bin, "postgres"), p.client.env, args)
	cmd.workDir, cmd.unprivileged = data, true
	return p.serve(ctx, cmd, port)
}

// backup makes the data directory of the standby.
func (p *Postgres) backup(ctx context.Context) (string, error) {
	data := filepath.Join(p.dir.path, memberName(1))
	t := tool{dir: p.dir.path, env: p.client.env, unprivileged: true, progress: io.Discard}
	return data, t.run(ctx, filepath.Join(p.bin, "pg_basebackup"), "-D", data, "--checkpoint=fast", "--no-sync", "--write-recovery-conf",
		"-d", conninfo(p.TLS, p.Members[0].endpoint, Admin)+"&application_name="+standbyName)
}

// synchronize has the commits of the primary wait for the standby, from when the
// standby has caught up.
func (p *Postgres) synchronize(ctx context.Context) error {
	primary := p.Members[0]
	_, err := primary.Query(ctx, Admin, "ALTER SYSTEM SET synchronous_standby_names = '"+standbyName+"'", "SELECT pg_reload_conf()")
	if err != nil {
		return err
	}
	return primary.poll(ctx, "has no synchronous standby", func(ctx context.Context) error {
		state, err := primary.Query(ctx, Admin, "SELECT sync_state FROM pg_stat_replication")
		if err == nil && state != "sync" {
			err = fmt.Errorf("the standby's state is %q", state)
		}
		return err
	})
}

// Promote makes the standby a primary, and returns when it accepts writes. It does
// not end the old primary, whose commits wait for a standby from then on.
func (p *Postgres) Promote(ctx context.Context) error {
	standby := p.Members[len(p.Members)-1]
	done, err := standby.Query(ctx, Admin, "SELECT pg_promote(wait_seconds => 600)")
	if err == nil && done != "t" {
		err = fmt.Errorf("pg_promote returned %q", done)
	}
	if err != nil {
		return fmt.Errorf("promote %s: %w", standby.command.name, err)
	}
	return nil
}

// postgresClient is psql.
func postgresClient(bin string, env []string) sqlClient {
	return sqlClient{
		scheme: "postgres", path: filepath.Join(bin, "psql"), env: env,
		primary: "SELECT 1 WHERE NOT pg_is_in_recovery()",
		args: func(c sqlClient, endpoint string, user DatabaseUser, statements []string) []string {
			args := strings.Fields("--no-psqlrc --no-align --tuples-only --quiet --set=ON_ERROR_STOP=1")
			args = append(args, "--field-separator=\t", "--dbname="+conninfo(c.tls, endpoint, user))
			for _, s := range statements {
				args = append(args, "--command="+s)
			}
			return args
		},
	}
}

// conninfo is the URL of [Database] with what PostgreSQL's own programs need for
// TLS.
func conninfo(files *TLSFiles, endpoint string, user DatabaseUser) string {
	query := url.Values{"sslmode": {"disable"}}
	if files != nil {
		query = url.Values{"sslmode": {"verify-full"}, "sslrootcert": {files.CA}, "sslcert": {files.ClientCert}, "sslkey": {files.ClientKey}}
	}
	return databaseURL("postgres", user, endpoint, query)
}
