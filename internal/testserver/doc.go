// Package testserver runs real store servers for tests: etcd with one or three
// members, as processes of their own that can be killed, frozen, thawed and
// restarted, as servers are in production.
//
// # Nothing is left behind
//
// A server never outlives the program that started it. [StartEtcd] closes its
// cluster when the test ends, and [Etcd.Close] does so elsewhere. When neither
// can run (a panic, os.Exit, SIGKILL, an interrupt) the kernel kills the servers
// together with their parent. The directories such a program leaves are removed
// by whoever starts a server next, or by [Sweep]: each directory is locked by
// its owner and by its servers, so an unlocked one belongs to nobody.
//
// # Ports
//
// Servers listen on loopback ports that are reserved from before their first
// start until they are closed. A killed server therefore finds its ports free
// when it is restarted, and in the meantime a client's connection attempt is
// refused, as by a machine that is up and runs no server.
//
// # Binaries
//
// The etcd server is built from its own Go module at a pinned version when it is
// first needed, which takes about a minute, and kept in .servers/ at the
// repository's root. The command cmd/buildservers does so ahead of time. The
// environment variable COORDKIT_ETCD names a binary to use instead.
//
// # Another store
//
// A server is a [Process] run from a command, in a directory of newRunDir, on
// ports of reservePort. What a store adds is its flags or configuration file and
// its own way to tell that it serves; etcd.go and its siblings show how.
//
// The package is for Linux: it relies on the parent-death signal and on /proc.
package testserver
