// Package conformance checks a driver against the contract of package
// coord/driver, rule by rule, and the recipes on top of it against theirs.
//
// A driver author describes the store with a [Harness] and calls [Run] in a
// test:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, conformance.Harness{
//			Name: "etcd",
//			TTL:  2 * time.Second,
//			Open: func(ctx context.Context, namespace string) (driver.Conn, error) { … },
//		})
//	}
//
// Each rule is a subtest named by the harness and its ID, and each of its cases one
// below it: go test -run 'TestConformance/etcd/S1/frozen_up'. Outside of tests,
// [Check] does the same and returns a [Report].
//
// # What a result says
//
// A rule [Passed] if every one of its cases ran and found nothing. Many rules
// are about faults: a link that freezes, a reply that is lost, a session that
// the store ends. A harness that cannot cause the fault leaves the rule
// [NotVerified], which is printed as such and never counted as passed. A rule
// that a driver knowingly breaks is waived, with a reason; a waiver that is not
// needed fails, so that no waiver outlives its cause.
//
// # How it looks
//
// Each case runs in a namespace of its own, with a time-out of its own, beside
// the others: most of the time they wait for leases to end. What a case claims
// about the store it sees through a third client, which shares nothing with
// those under test; that a waiter is blocked is read from the queue, not from
// the clock. A driver that hangs does not hang the suite: the case is given up
// and the goroutines that stand still are shown.
//
// A panic of the driver's in a goroutine of the suite fails the case. One in a
// goroutine that the driver has started ends the process. The trace then has the
// name of the case in its labels, and a report of what was known, with the cases
// that were under way, is printed behind it by a second process (Options.Crash).
//
// Upper bounds in milliseconds, such as that of B1, are extended by what this
// process itself was late in the meantime, so a busy machine is not taken for a
// slow driver.
//
// doc/contract.md says of each rule why it exists and what is done to check it.
package conformance
