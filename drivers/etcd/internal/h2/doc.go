// Package h2 makes gRPC calls over HTTP/2 connections that serve one call at a time,
// or one stream, and that have no goroutines: who calls writes the request and reads
// the answer.
//
// gRPC's own connections have two goroutines, one that writes for all callers and one
// that reads for them. Many calls can share such a connection. But to wake one of
// them, and to be woken by the other, is an eighth of what a small change takes to a
// server that is near, and half of the processor's time that it takes the client.
//
// It does what calls to etcd need and no more: requests of one frame, no compression,
// no deadline told to the server, no retries. The frames and their headers are those
// of golang.org/x/net/http2.
package h2
