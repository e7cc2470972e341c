// Package coordkit is the door to the library: it holds no code, and this page
// says what lies where.
//
// Coordination between processes, written once over any coordination store:
//
//   - coord connects to a store by URL and holds what all recipes share.
//   - recipes/mutex is a fair lock with fencing tokens and notice of loss;
//     recipes/rwlock, recipes/semaphore and recipes/election are the same for
//     readers and writers, for permits, and for leaders.
//   - drivers/mem, drivers/etcd, drivers/zk (ZooKeeper) and drivers/consul are
//     the stores; a program imports those it wants to be able to name in a URL.
//   - coord/driver is what the author of another driver implements, and
//     conformance the suite that it is checked by; conformance/soak puts it
//     under random faults for as long as one likes.
//
// In the repository, doc/stores.md says what each store gives and asks for,
// doc/writing-a-driver.md how to add one, doc/recipes.md and doc/contract.md what
// recipes and drivers promise, and doc/design.md why it is built as it is.
package coordkit
