package testserver

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
)

// EnvMariaDB names the environment variable that names a directory to run MariaDB
// from instead of what is unpacked: / if it is installed.
const EnvMariaDB = "COORDKIT_MARIADB"

// mariadbServer lists what the server and its client need besides what a machine
// with git and Java has.
var mariadbServer = debianServer{
	name:     "mariadb",
	override: EnvMariaDB,
	program:  "usr/sbin/mariadbd",
	setup:    mariadbSetup,
	fill:     fillMariaDB,
	packages: []DebianPackage{{
		Name: "mariadb-server-core", Version: "1:10.11.19-0+deb12u1",
		SHA256: "bda81cb1c5b538e19eed27462fa8df577684b9cdc4fe40cee8d1da9cbc0fe76b",
	}, {
		Name: "mariadb-client-core", Version: "1:10.11.19-0+deb12u1",
		SHA256: "60549abde2ad55068610b2cae03af7d17a2cafb0993f16c8c2413bd1b5fe6f5f",
	}, {
		Name: "libaio1", Version: "0.3.113-4",
		SHA256: "d1476e4beab3d85f8a7d31de94c27472711ed3ef399ce70708e24b259426125b",
	}, {
		Name: "libbsd0", Version: "0.11.7-2",
		SHA256: "bb31cc8b40f962a85b2cec970f7f79cc704a1ae4bad24257a822055404b2c60b",
	}, {
		Name: "libedit2", Version: "3.1-20221030-2",
		SHA256: "1cf14abf2716d3279db12d0657a5737cf70074a1e71d3bdf73206625e3c89ce6",
	}, {
		Name: "libncurses6", Version: "6.4-4",
		SHA256: "72300f09f02669c06c99b641ea795d52300ec7eb65eaccddf7bc3b72934f0ef5",
	}, {
		Name: "libnuma1", Version: "2.0.16-1",
		SHA256: "639e1ab6bd66ead40db8a22c332d7199679fa22db261cac34444eb8eb4c17dda",
	}, {
		Name: "liburing2", Version: "2.3-3",
		SHA256: "c23077e3640e6cb4b819c134b3f41d5cf21b3edac099654b1b4142c3069a39a3",
	}},
}

// mariadbSetup is what a data directory is made with, after the system's tables. A
// line is a statement.
const mariadbSetup = `FLUSH PRIVILEGES;
DELETE FROM mysql.global_priv WHERE User = 'root';
FLUSH PRIVILEGES;
CREATE DATABASE coord;
CREATE USER 'admin' IDENTIFIED BY 'secret';
GRANT ALL ON *.* TO 'admin' WITH GRANT OPTION;
CREATE USER 'owner' IDENTIFIED BY 'secret';
GRANT ALL ON coord.* TO 'owner';
CREATE USER 'limited' IDENTIFIED BY 'secret';
GRANT SELECT, INSERT, UPDATE, DELETE ON coord.* TO 'limited';
`

// fillMariaDB makes a data directory. It does what mariadb-install-db does, without
// the help texts and the views for people.
func fillMariaDB(ctx context.Context, s debianServer, root string, t tool) error {
	script := bytes.NewBufferString("CREATE DATABASE mysql;\nUSE mysql;\nSET @auth_root_socket = NULL;\n")
	for _, name := range []string{"mysql_system_tables.sql", "mysql_performance_tables.sql", "mysql_system_tables_data.sql"} {
		text, err := os.ReadFile(filepath.Join(mariadbShare(root), name))
		if err != nil {
			return err
		}
		script.Write(text)
	}
	script.WriteString(s.setup)
	if err := t.run(ctx, "mkdir", "-m", "700", "data"); err != nil {
		return err
	}
	t.stdin = script
	args := append(mariadbArgs(root, filepath.Join(t.dir, "data")), "--bootstrap", "--innodb-flush-method=nosync")
	return t.run(ctx, filepath.Join(root, s.program), args...)
}

// mariadbArgs returns the arguments of the server that its data depends on.
func mariadbArgs(root, data string) []string {
	return []string{
		"--no-defaults", "--basedir=" + filepath.Join(root, "usr"), "--lc-messages-dir=" + mariadbShare(root), "--datadir=" + data,
		"--character-set-server=utf8mb4", // as Debian's configuration has it
		"--innodb-log-file-size=16M",     // instead of 96M, which takes time to copy
	}
}

func mariadbShare(root string) string { return filepath.Join(root, "usr/share/mysql") }
