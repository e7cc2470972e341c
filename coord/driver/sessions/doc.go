// Package sessions is what the sessions of a connection are on every store: a lease that
// is renewed, calls that end with it, and a Close of the connection that ends them all
// (rules S1, S2, S5, W4, C7 and N1).
//
// A driver's connection has a [Keeper]. A driver's session embeds a [Session], which
// implements ID, TTL, Done, Err and Close of driver.Session, and makes its calls with
// [Session.Do].
package sessions
