// Package foreign measures locks of libraries that are not written in Go: kazoo
// for Python and Apache Curator for Java, both of which keep them in ZooKeeper.
//
// Each library runs in a process of its own, a [Peer], which does the same work
// as the benchmarks in Go do, with the library's lock as its users take it, and
// measures it by its own clock. So what is measured is not slowed down by the
// way the figures come here.
//
// Nothing need be installed but the language: Python 3 for kazoo, and a Java
// runtime of version 11 or later, without a compiler, for Curator. The libraries
// are those of Debian 12, unpacked and not installed, as package testserver does
// with ZooKeeper itself.
package foreign
