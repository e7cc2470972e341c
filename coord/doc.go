// Package coord connects a program to a coordination store and holds what all
// recipes share: the client, its sessions, what a hold is, and the errors.
//
// A program imports the drivers it wants and opens a client by URL:
//
//	import _ "github.com/coordkit/coordkit/drivers/etcd"
//
//	client, err := coord.Open(ctx, "etcd://10.0.0.1,10.0.0.2/myapp?session_ttl=15s")
//
// and makes recipes on it, from the packages below recipes. Which store it is
// makes no difference to the rest of the program: every driver keeps the same
// contract (package driver), and one suite checks it (package conformance).
//
// # What a ctx bounds
//
// A ctx given to a call bounds that call and never what the call returned: a
// session, a hold or a wait's place in the line does not end because the ctx
// that it was made under does. Every call returns promptly when its ctx ends,
// whatever the store does.
//
// # Holds
//
// Everything acquired is a [Hold]. Its context ends before another client can acquire
// the same thing, and its token lets a resource refuse a holder that cannot be told in
// time because its process was paused. Two ends cannot be foreseen: an operator deletes
// the entry or the session, or a server ends a session that lives. Then the context may
// end shortly after the next hold has begun, and the tokens tell the two apart.
package coord
