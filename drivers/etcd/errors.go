package etcd

import (
	"errors"
	"fmt"
	"strings"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
)

// scheme is that of the URLs, and names the store in errors.
const scheme = "etcd"

// refusals are the answers of a server that has not even tried. That the quota is used up
// is none of them: a server that finds out while it applies a change says so, and has made
// it.
var refusals = []error{
	rpctypes.ErrNoLeader, // see wire.once
	rpctypes.ErrTooManyRequests,
	rpctypes.ErrGRPCNotSupportedForLearner,
}

var denials = []error{
	rpctypes.ErrAuthFailed,
	rpctypes.ErrUserEmpty,
	rpctypes.ErrUserNotFound,
	rpctypes.ErrPermissionDenied,
	rpctypes.ErrInvalidAuthToken, // after the client has tried with a new one
	rpctypes.ErrAuthOldRevision,  // likewise
	rpctypes.ErrNoSpace,
}

// errClientClosed is for a client that the program has closed.
var errClientClosed = &driver.Error{Op: "connection", Store: scheme, Kind: driver.ErrClosed, Err: errors.New("the client was closed")}

// kindOf returns the kind of an error by which a server has answered. answered is false
// for an error which says only that no answer came.
func kindOf(err error) (kind error, answered bool) {
	switch code := status.Code(err); {
	case isAny(err, rpctypes.ErrLeaseNotFound):
		return driver.ErrSessionLost, true
	case isAny(err, refusals...):
		return driver.ErrUnavailable, true
	case isAny(err, denials...), code == codes.PermissionDenied, code == codes.Unauthenticated:
		return driver.ErrDenied, true
	case code == codes.InvalidArgument, code == codes.FailedPrecondition, code == codes.OutOfRange,
		code == codes.NotFound, code == codes.AlreadyExists, code == codes.Unimplemented, code == codes.DataLoss,
		notEtcd(err):
		return driver.ErrInvalid, true
	}
	return nil, false
}

func isAnswer(err error) bool { _, answered := kindOf(err); return answered }

// notEtcd reports whether an error tells of a server that speaks plain HTTP. gRPC has only
// words for that.
func notEtcd(err error) bool {
	text := err.Error()
	code := status.Code(err)
	return strings.Contains(text, "looked like an HTTP/1.1 header") ||
		strings.Contains(text, "received unexpected content-type") && (code == codes.Unknown || code == codes.Internal)
}

func isAny(err error, list ...error) bool {
	err = rpctypes.Error(err)
	for _, e := range list {
		if errors.Is(err, rpctypes.Error(e)) {
			return true
		}
	}
	return false
}

// answer classifies the error of a request in the way that attempt.Op.Do wants: what a
// server has answered becomes a *driver.Error.
func answer(o attempt.Op, err error) error {
	if err == nil {
		return nil
	}
	if known, ok := errors.AsType[*driver.Error](err); ok {
		return known
	}
	if broken, ok := errors.AsType[*brokenStream](err); ok {
		return answer(o, broken.cause)
	}
	if status.Code(err) == codes.Unknown {
		err = reason(err.Error(), err)
	}
	kind, answered := kindOf(err)
	if !answered {
		return cause(err)
	}
	err = cause(rpctypes.Error(err))
	if _, ofEtcd := errors.AsType[rpctypes.EtcdError](err); !ofEtcd && kind == driver.ErrInvalid {
		err = fmt.Errorf("the server does not answer as etcd does, so the URL may name another one: %w", err)
	}
	return o.Failed(kind, err)
}

// reason is the error whose text a server gives when it refuses a watch, or else err.
func reason(text string, err error) error {
	_, text, _ = strings.Cut(text, "desc = ")
	if server, ok := errors.AsType[rpctypes.EtcdError](rpctypes.Error(errors.New(text))); ok {
		return server
	}
	return err
}

// isStale reports whether a watch was refused for a token that was valid once.
func isStale(text string) bool {
	return isAny(reason(text, nil), rpctypes.ErrInvalidAuthToken, rpctypes.ErrAuthOldRevision, rpctypes.ErrUserEmpty)
}

// cause is an error of gRPC without its prefix "rpc error: code = … desc = ".
func cause(err error) error {
	if s, ok := status.FromError(err); ok && s.Code() != codes.OK {
		return errors.New(s.Message())
	}
	return err
}

// brokenStream is why a stream ended. It hides the gRPC status of its cause: see
// stream.RecvMsg.
type brokenStream struct{ cause error }

func (e *brokenStream) Error() string { return "stream broken: " + e.cause.Error() }
