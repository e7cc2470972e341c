// Package coordkit is the door to the library: it holds no code, and this page
// says what lies where.
//
// Coordination between processes, written once over any coordination store:
//
//   - coord connects to a store by URL and holds what all recipes share.
//   - recipes/mutex is a fair lock with fencing tokens and notice of loss.
//   - drivers/mem and drivers/etcd are the stores; a program imports those it
//     wants to be able to name in a URL.
//   - coord/driver is what the author of another driver implements, and
//     conformance the suite that it is checked by.
//
// doc/contract.md and doc/design.md in the repository say what is promised, and
// why it is built as it is.
package coordkit
