package testserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Database is the database that PostgreSQL and MariaDB are started with.
const Database = "coord"

// DatabaseUser is the name of a user of a database server.
type DatabaseUser string

// The users that every database server is started with.
const (
	// Admin may do everything.
	Admin DatabaseUser = "admin"
	// Owner may do everything in [Database], such as create tables.
	Owner DatabaseUser = "owner"
	// Limited may read and write all tables of Owner in [Database], and may not
	// create any.
	Limited DatabaseUser = "limited"
)

// DatabasePassword is the password of every user.
const DatabasePassword = "secret"

// databases is what the clusters of database servers have in common.
type databases struct {
	*cluster
	// Members are the servers. The slice does not change.
	Members []*DatabaseMember
	// TLS holds the files a client needs; nil without TLS.
	TLS *TLSFiles

	client sqlClient
}

// DatabaseMember is a database server, or a PgBouncer in front of one.
type DatabaseMember struct {
	*member
	client sqlClient
}

// Member returns the member with index i, counted from 0.
func (d *databases) Member(i int) *DatabaseMember { return d.Members[i] }

// URL returns the URL that user finds [Database] at. If there are two servers it
// names both, and asks for the one that accepts writes. It says nothing of TLS.
func (d *databases) URL(user DatabaseUser) string {
	var query url.Values
	if len(d.Members) > 1 {
		query = url.Values{"target_session_attrs": {"read-write"}}
	}
	return databaseURL(d.client.scheme, user, strings.Join(d.Endpoints(), ","), query)
}

// URL returns the URL that user finds [Database] at on this member. It says nothing
// of TLS.
func (m *DatabaseMember) URL(user DatabaseUser) string {
	return databaseURL(m.client.scheme, user, m.endpoint, nil)
}

func databaseURL(scheme string, user DatabaseUser, host string, query url.Values) string {
	u := url.URL{Scheme: scheme, User: url.UserPassword(string(user), DatabasePassword), Host: host, Path: Database, RawQuery: query.Encode()}
	return u.String()
}

// Query has the member execute statements as user, one by one, in [Database]. It
// returns the rows, a line each, with a tab between the columns.
func (m *DatabaseMember) Query(ctx context.Context, user DatabaseUser, statements ...string) (string, error) {
	return m.client.query(ctx, m.endpoint, user, statements...)
}

// serve starts one more member and waits until it serves.
func (d *databases) serve(ctx context.Context, cmd command, port *reservedPort) error {
	endpoint := port.addr()
	m, err := d.launch(cmd, endpoint, func() probe { return databaseProbe{d.client, endpoint} })
	if err != nil {
		return err
	}
	d.Members = append(d.Members, &DatabaseMember{m, d.client})
	return m.WaitHealthy(ctx)
}

// secureClients makes the certificates.
func (d *databases) secureClients() (*serverTLS, error) {
	files, err := d.secure()
	if err == nil {
		d.TLS = &files.TLSFiles
		d.client.tls = d.TLS
	}
	return files, err
}

// settings formats settings that have a name and a value, in order.
func settings(config map[string]string, format string) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(config)) {
		all = append(all, fmt.Sprintf(format, name, config[name]))
	}
	return all
}

// sqlClient is a server's own command-line client.
type sqlClient struct {
	scheme  string // of URLs
	path    string
	env     []string
	tls     *TLSFiles
	primary string // a query that returns 1 on a primary
	args    func(c sqlClient, endpoint string, user DatabaseUser, statements []string) []string
}

// query runs the client, and returns what it prints without the last newline.
func (c sqlClient) query(ctx context.Context, endpoint string, user DatabaseUser, statements ...string) (string, error) {
	cmd := exec.CommandContext(ctx, c.path, c.args(c, endpoint, user, statements)...)
	cmd.Env = c.env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w: %s", filepath.Base(c.path), errors.Join(err, ctx.Err()), bytes.TrimSpace(stderr.Bytes()))
	}
	return strings.TrimSuffix(stdout.String(), "\n"), nil
}

// databaseProbe looks at one member. It keeps no connection.
type databaseProbe struct {
	client   sqlClient
	endpoint string
}

// serves has the member execute a query, which a standby does too.
func (p databaseProbe) serves(ctx context.Context) error {
	_, err := p.client.query(ctx, p.endpoint, Owner, "SELECT 1")
	return err
}

// view takes a primary for the leader of all members, as long as most serve.
func (p databaseProbe) view(ctx context.Context) (view, error) {
	primary, err := p.client.query(ctx, p.endpoint, Owner, p.client.primary)
	return view{leads: primary == "1", follows: "the primary"}, err
}

func (p databaseProbe) close() {} // keeps nothing
