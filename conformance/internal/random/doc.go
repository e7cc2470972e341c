// Package random makes programs of random calls on a driver, with random faults and acts
// of operators, runs them, and makes those that break a rule of its contract smaller.
//
// [Generate] makes the [Program] of a seed. It is data: waves of steps, each of which is a
// call of a session or a connection, a fault of a link, or an act of an operator. [Run]
// runs it and records what happened as a model.History, for model.Judge. [Shrink] makes it
// smaller as long as it breaks its rule, and [Report] prints it like a program, with what
// each call returned.
//
// A seed repeats a program and not its schedule: what runs at the same time may do so in
// another order the next time.
package random
