// Package netfault is a TCP proxy that misbehaves on command, for testing how a
// driver, or any client of a network service, takes a bad network.
//
// A [Proxy] listens on a free loopback port and forwards to one target. A
// [Group] is one proxy per endpoint of a cluster: one client's whole view of
// it. Put one between the client under test and its store, give the client
// [Proxy.Addr] (or [Group.Addrs]) in place of the store's own address, and keep
// a second, direct client to see what the store really did. Then break the
// link, look, and [Control.Heal] it. The verbs act on live connections and on
// new ones, may be combined, and are the same for a Proxy and for a Group: see
// [Control].
//
// Which fault asks which question:
//
//   - [Control.Freeze]: does every call return within its ctx when nothing
//     answers? Held bytes are kept and delivered by Heal, so it also models the
//     request that lands after its caller gave up: is what it created removed?
//   - [Control.Blackhole]: the same silence, but the bytes are gone for good
//     and so is the connection. Does the client find out by itself?
//   - [Control.DropReplies], [Control.DropNextReply]: the request was applied,
//     the answer never came. Is a repeated create still one node?
//   - [Control.Cut]: the server is down, connecting is refused. Is a failure
//     that surely applied nothing told apart from one that may have?
//   - [Control.Reject]: each connection is reset at once. Does the client pause
//     before it tries again?
//   - [Control.DropConnections]: a blip. Does the session survive it, and are
//     watches set again?
//   - [Control.Delay]: a slow link. Is a lease counted from the time its
//     keepalive was sent, not from the time the answer arrived?
//
// One question is not for a proxy, as it is about a single request: what does a request
// do that lands after later ones were answered? A [Gate] in the client's dialer holds
// it back.
//
// # No sleeping
//
// A verb is in force when it returns: every byte passed on afterwards is passed
// on under the new rules. (What the proxy handed to the operating system before
// is on the wire and arrives.) To know when the interesting moment has come,
// wait for it: [Control.WaitHeld] until a request is stuck in the frozen link,
// [Control.WaitConns] until a closed client has left no connection behind,
// [Control.Wait] for anything else that [Stats] can tell. A test of a late
// request reads
//
//	proxy.Freeze(netfault.Up)
//	go client.Create(ctx, …)                // hangs
//	proxy.WaitHeld(ctx, netfault.Up)        // the request is in the link
//	cancel()                                // the caller gives up
//	proxy.Heal()                            // and only now it lands
//
// # What the proxy sees
//
// The proxy knows bytes, not messages. A chunk is what one read returned, which
// need not be one request; and a protocol that multiplexes (HTTP/2, and so gRPC)
// sends pings and window updates of its own accord, which count as bytes too.
//
// The end of a stream travels like a byte: in order, behind what was sent
// before it. A FIN is passed on as a FIN, so a half-closed connection stays
// usable the other way; a reset is passed on as a reset. A frozen link holds
// them, a black hole swallows them. A connection that a fault made lose a byte
// or an end of stream is never used again: it is reset, at the latest by Heal,
// and no reader ever sees a stream with a hole in it.
package netfault
