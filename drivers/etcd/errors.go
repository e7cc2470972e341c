package etcd

import (
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/coordkit/coordkit/coord/driver"
)

const store = "etcd"

// refusals are the answers by which the server says that it did not even try: it
// checks for them before it proposes anything. That the quota is used up
// (ErrNoSpace) is none of them: a server that finds out while it applies a change
// says so, and has made it.
var refusals = []error{
	rpctypes.ErrNoLeader,                   // asked for where there are other members, see conn.ask
	rpctypes.ErrTooManyRequests,            // the backlog is full
	rpctypes.ErrGRPCNotSupportedForLearner, // the balancer picks learners too
}

// denials are the answers that say who we are not, or what we may not do.
var denials = []error{
	rpctypes.ErrAuthFailed,
	rpctypes.ErrUserEmpty,
	rpctypes.ErrUserNotFound,
	rpctypes.ErrPermissionDenied,
	rpctypes.ErrInvalidAuthToken, // after the client has tried with a new one
	rpctypes.ErrAuthOldRevision,  // likewise
}

// kindOf sorts an error of gRPC or of the server into the kinds of package
// driver. The request may have reached a server; write says whether it changes
// something there.
func kindOf(err error, write bool) error {
	switch code := status.Code(err); {
	case isAny(err, denials), code == codes.PermissionDenied, code == codes.Unauthenticated:
		return driver.ErrDenied
	case isAny(err, refusals):
		return driver.ErrUnavailable
	case code == codes.InvalidArgument, code == codes.FailedPrecondition, code == codes.OutOfRange,
		code == codes.NotFound, code == codes.AlreadyExists, code == codes.Unimplemented:
		return nil // understood and rejected; no use in trying again
	case write:
		return driver.ErrUncertain
	default:
		return driver.ErrUnavailable
	}
}

func isAny(err error, list []error) bool {
	err = rpctypes.Error(err)
	for _, e := range list {
		if errors.Is(err, rpctypes.Error(e)) {
			return true
		}
	}
	return false
}

// cause makes the error that is kept: the server's own where it said something,
// and otherwise what gRPC says, without its prefix.
func cause(err error) error {
	err = rpctypes.Error(err)
	var server rpctypes.EtcdError
	if s, ok := status.FromError(err); ok && !errors.As(err, &server) {
		return &transportError{message: s.Message(), err: err}
	}
	return err
}

// transportError shows the message alone: "rpc error: code = ... desc = "
// helps nobody.
type transportError struct {
	message string
	err     error
}

func (e *transportError) Error() string { return e.message }
func (e *transportError) Unwrap() error { return e.err }

// failed makes the error of an operation.
func failed(o op, kind, err error) error {
	return &driver.Error{Op: o.name, Store: store, Key: o.key, Kind: kind, Err: err}
}

func invalid(o op, format string, args ...any) error {
	return failed(o, driver.ErrInvalid, fmt.Errorf(format, args...))
}

// checkData refuses what is too long, before anything is sent.
func checkData(o op, data []byte) error {
	if len(data) > driver.MaxData {
		return invalid(o, "%d bytes of data; the most is %d", len(data), driver.MaxData)
	}
	return nil
}
