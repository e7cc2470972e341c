// Package trial tries what a lock promises while a fault happens to its holder, for
// many locks at a time, and counts what it finds.
//
// A trial is one lock through one fault. Its holder is cut off, paused, killed or
// evicted ([Fault]); others wait for the lock, some from the holder's own program and
// some from programs that the fault leaves alone:
//
//   - the holder works under the lock until its context ends, and goes on afterwards
//     like a program that does not look, until the resource refuses it; one in five
//     holders unlocks in the middle of the fault;
//   - "next" and "after" wait, each in a program of its own, without a deadline;
//   - "stuck" waits in the holder's program without a deadline, and joins again when
//     its place is lost;
//   - "quits" waits in the holder's program and gives up in the middle of the fault,
//     then tries once more with a short deadline.
//
// When the fault is over everybody lets go, and the trial ends when every call has
// come to an end and the line is empty.
//
// Two judges look at each trial. Package history judges the lock by the contexts of
// its holders at the moment of each grant. Package register judges by the resource
// behind the lock, which every holder reads and writes with its token. [Run] returns
// what both found as a [Result], and [Table] prints results.
package trial
