// Package testserver runs real store servers for tests: etcd, Consul and
// ZooKeeper with one or three members, PostgreSQL with or without a standby,
// MariaDB and PgBouncer, as processes of their own that can be killed, frozen,
// thawed and restarted, as servers are in production.
//
// # Nothing is left behind
//
// A server never outlives the program that started it. [StartEtcd] and its likes
// close their cluster when the test ends, and Close does so elsewhere. When
// neither can run (a panic, os.Exit, SIGKILL, an interrupt) the kernel kills the
// servers together with their parent. The directories such a program leaves are
// removed by whoever starts a server next, or by [Sweep]: each directory is
// locked by its owner and by its servers, so an unlocked one belongs to nobody.
//
// # Ports
//
// Servers listen on loopback ports that are reserved from before their first
// start until they are closed. A killed server therefore finds its ports free
// when it is restarted, and in the meantime a client's connection attempt is
// refused, as by a machine that is up and runs no server.
//
// # Servers
//
// The command cmd/buildservers gets all servers ahead of time. Otherwise each is
// got when it is first needed, and kept in .servers/ at the repository's root.
//
//   - etcd is built from its Go module at the version that etcdbin/go.mod pins,
//     which takes about a minute. COORDKIT_ETCD names a binary to use instead.
//   - Consul is built likewise, from consulbin/go.mod, which takes some minutes.
//     COORDKIT_CONSUL names a binary to use instead.
//   - ZooKeeper 3.8 is taken from the packages of Debian 12, which are unpacked
//     and not installed. COORDKIT_ZOOKEEPER names a directory of jars to use
//     instead. It runs on the machine's java.
//   - PostgreSQL 15, MariaDB 10.11 and PgBouncer 1.18 are taken likewise.
//     COORDKIT_POSTGRES, COORDKIT_MARIADB and COORDKIT_PGBOUNCER each name a
//     directory that has the server where Debian has it, to use instead: / if the
//     server is installed. Root's tests run them in a user namespace, in which
//     they are not root's.
//
// # Another store
//
// A store's cluster embeds what all clusters have in common, and has setUp start
// it. It adds its flags or configuration file, and a probe: its own way to tell
// that a member serves and whom it follows. consul.go and its siblings show how.
//
// The package is for Linux: it relies on the parent-death signal and on /proc.
package testserver
