package testserver

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// EnvPostgres names the environment variable that names a directory to run
// PostgreSQL from instead of what is unpacked: / if it is installed.
const EnvPostgres = "COORDKIT_POSTGRES"

// postgresServer lists what a server and its clients need besides what a machine
// with git and Java has.
var postgresServer = debianServer{
	name:     "postgres",
	override: EnvPostgres,
	program:  "usr/lib/postgresql/15/bin/postgres",
	setup:    postgresSetup,
	fill:     fillPostgres,
	packages: []DebianPackage{{
		Name: "postgresql-15", Version: "15.20-0+deb12u1",
		SHA256: "8566850f295c2cb5034ff5dd5b40caf97eea81b75a841c8d1f691c05ab8815db",
	}, {
		Name: "postgresql-client-15", Version: "15.20-0+deb12u1",
		SHA256: "779332f35a5adc7c97376a7bb6dd8a6a6b48f594953f01eecfaead2eab09dab1",
	}, {
		Name: "libpq5", Version: "15.20-0+deb12u1",
		SHA256: "ac8a72cc33453f75ac605b4f6b8f9febae303b9d9a61255a042a87a7f69ac5c7",
	}, {
		Name: "libicu72", Version: "72.1-3+deb12u1",
		SHA256: "f7f6f99c6d7b025914df2447fc93e11d22c44c0c8bdd8b6f36691c9e7ddcef88",
	}, {
		Name: "libxml2", Version: "2.9.14+dfsg-1.3~deb12u6",
		SHA256: "4460e39dda10a815881374217cde08474747cfa018358cd8612c14b390eff53b",
	}},
}

// postgresSetup is what a data directory is made with. A line is a statement.
const postgresSetup = `ALTER ROLE admin PASSWORD 'secret'
CREATE ROLE owner LOGIN PASSWORD 'secret'
CREATE ROLE limited LOGIN PASSWORD 'secret'
ALTER DEFAULT PRIVILEGES FOR ROLE owner GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO limited
ALTER DEFAULT PRIVILEGES FOR ROLE owner GRANT USAGE, SELECT ON SEQUENCES TO limited
CREATE DATABASE coord OWNER owner
`

// fillPostgres makes a data directory. The default privileges are set in template1,
// which the new database is a copy of.
func fillPostgres(ctx context.Context, s debianServer, root string, t tool) error {
	program := filepath.Join(root, s.program)
	err := t.run(ctx, filepath.Join(filepath.Dir(program), "initdb"), "-D", "data", "--username=admin", "--auth=reject",
		"--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions")
	if err != nil {
		return err
	}
	t.stdin = strings.NewReader(s.setup)
	return t.run(ctx, program, "--single", "-D", "data", "-c", "exit_on_error=on", "template1")
}

// removeSharedMemory removes the shared memory of the servers whose data is in the
// directory dir, which a killed server leaves. The kernel keeps it until then for a
// process that still uses it.
func removeSharedMemory(dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*", "postmaster.pid"))
	if err != nil {
		return err
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		const at = 6 // the line "key id"
		lines := strings.Split(string(text), "\n")
		if len(lines) <= at {
			continue
		}
		var key, id int
		if _, err := fmt.Sscan(lines[at], &key, &id); err != nil {
			continue // it was not made yet
		}
		_, err = unix.SysvShmCtl(id, unix.IPC_RMID, nil)
		if err != nil && err != unix.EINVAL && err != unix.EIDRM {
			return fmt.Errorf("remove the shared memory of %s: %w", file, err)
		}
	}
	return nil
}
