package zk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
)

const store = "zk"

// op is a call of the driver's interface, as far as its requests need to know
// it.
type op struct {
	name, key string
	write     bool          // it changes something in the store
	limit     time.Duration // of each attempt
}

// kindOf sorts what the client library returns into the kinds of package
// driver. write says whether the request changes something.
func kindOf(err error, write bool) error {
	switch {
	case errors.Is(err, gozk.ErrNoAuth), errors.Is(err, gozk.ErrAuthFailed), errors.Is(err, gozk.ErrInvalidACL):
		return driver.ErrDenied
	case errors.Is(err, gozk.ErrSessionExpired):
		return driver.ErrSessionLost
	case isAnswer(err):
		return nil // understood and rejected; no use in trying again
	case write:
		return driver.ErrUncertain
	default:
		return driver.ErrUnavailable
	}
}

// errorOf is the library's error for a code of the server's, as in ZooKeeper's
// KeeperException.Code.
func errorOf(code int32) error {
	switch code {
	case 0:
		return nil
	case -8:
		return gozk.ErrBadArguments
	case -100:
		return gozk.ErrAPIError
	case -101:
		return gozk.ErrNoNode
	case -102:
		return gozk.ErrNoAuth
	case -103:
		return gozk.ErrBadVersion
	case -108:
		return gozk.ErrNoChildrenForEphemerals
	case -110:
		return gozk.ErrNodeExists
	case -111:
		return gozk.ErrNotEmpty
	case -112:
		return gozk.ErrSessionExpired
	case -114:
		return gozk.ErrInvalidACL
	case -115:
		return gozk.ErrAuthFailed
	case -116:
		return gozk.ErrClosing
	case -118:
		return gozk.ErrSessionMoved
	case -125:
		return errQuota
	}
	return fmt.Errorf("zk: error %d", code)
}

// What the library has no errors for.
var (
	errQuota = errors.New("zk: a quota is exceeded")

	// errPart is of a part of a transaction that was refused, and so all of it.
	errPart = errors.New("zk: refused")
)

// answers are the errors by which a server says that it did not do what it was
// asked for. Others are of the library, which has lost the connection, or are
// unknown to it, which says nothing about the effect.
var answers = []error{
	gozk.ErrAPIError, gozk.ErrNoNode, gozk.ErrNoAuth, gozk.ErrBadVersion, gozk.ErrNoChildrenForEphemerals,
	gozk.ErrNodeExists, gozk.ErrNotEmpty, gozk.ErrSessionExpired, gozk.ErrInvalidACL, gozk.ErrAuthFailed,
	gozk.ErrBadArguments, gozk.ErrInvalidPath, gozk.ErrInvalidFlags, gozk.ErrShortBuffer, errQuota, errPart,
}

// isAnswer reports whether err says for certain that the request had no effect.
func isAnswer(err error) bool {
	for _, a := range answers {
		if errors.Is(err, a) {
			return true
		}
	}
	return false
}

// isRefusal reports whether err is an answer to a request within a session.
func isRefusal(err error) bool { return isAnswer(err) && !errors.Is(err, gozk.ErrSessionExpired) }

// isBroken reports whether err says that the connection was lost.
func isBroken(err error) bool {
	var network net.Error
	return errors.Is(err, gozk.ErrConnectionClosed) || errors.Is(err, gozk.ErrClosing) || errors.Is(err, gozk.ErrNoServer) ||
		errors.As(err, &network) || errors.Is(err, io.EOF)
}

// early is the error of a connection that ended before its server had said
// anything. Servers do not say why they close one.
func early(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("the server closed the connection before the handshake: it may have reached maxClientCnxns, "+
			"the most connections that it accepts from one address, or not be serving: %w", err)
	}
	return err
}

// failed makes the error of an operation.
func failed(o op, kind, err error) error {
	return &driver.Error{Op: o.name, Store: store, Key: o.key, Kind: kind, Err: err}
}

// denied is a refusal, which may have been the end of a session, without that:
// not every call is one of a session.
func denied(o op, err error) error {
	why := gozk.ErrNoAuth
	if errors.Is(err, gozk.ErrAuthFailed) {
		why = gozk.ErrAuthFailed
	}
	return failed(o, driver.ErrDenied, why)
}

func invalid(o op, format string, args ...any) error {
	return failed(o, driver.ErrInvalid, fmt.Errorf(format, args...))
}

// unsent is the error of a call that was given up before anything was sent, so
// that nothing has to be cleared up.
func unsent(o op, ctx context.Context) error {
	return failed(o, driver.ErrUnavailable, driver.ContextError(ctx))
}

// checkData refuses what is too long, before anything is sent.
func checkData(o op, data []byte) error {
	if len(data) > driver.MaxData {
		return invalid(o, "%d bytes of data; the most is %d", len(data), driver.MaxData)
	}
	return nil
}
