// Package sessions holds what the sessions of a connection share on every store. A
// session is a lease that is renewed and calls that end with it; Close of the
// connection ends them all (rules S1, S2, S5, W4, C7 and N1).
//
// A driver's connection has a [Keeper]. A driver's session embeds a [Session], which
// implements ID, TTL, Done, Err and Close of driver.Session, and makes its calls with
// [Session.Do].
package sessions
