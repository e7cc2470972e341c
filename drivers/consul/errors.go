package consul

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
)

const store = "consul"

// refusals are what servers say of a request that they did not even try. Agents
// repeat such a request of their own accord, for the same reason, before they
// pass the answer on.
var refusals = []string{
	"No cluster leader",
	"No known Consul servers",
	"No path to datacenter",
	"Remote DC has no server currently reachable",
	"Raft leader not found in server lookup mapping",
	"rate limit exceeded",        // of the servers; with status 503 from the leader
	"Missing node registration",  // the agent has only just started
	"Not ready to serve consist", // the leader has only just been elected
}

// rejections are what servers say, with the status of a failure of their own, of
// a request that they have understood and will not grant.
var rejections = []string{errTTL, "cross datacenter lock must be created at server agent"}

const errTTL = "Invalid Session TTL"

// denials are what a transaction says, with the status of a conflict, where
// other requests have one of their own.
var denials = []string{"Permission denied", "ACL not found"}

// errNoAgent is an answer with the right status that no agent gives.
var errNoAgent = errors.New("somebody else than an agent has answered")

// kindOf sorts an error into the kinds of package driver. sent says whether the
// request may have reached an agent, and write whether it changes something.
func kindOf(err error, sent, write bool) error {
	var answer api.StatusError
	switch {
	case errors.As(err, &answer):
		switch code := answer.Code; {
		case code == http.StatusForbidden, code == http.StatusUnauthorized:
			return driver.ErrDenied
		case code == http.StatusTooManyRequests, containsAny(answer.Body, refusals):
			return driver.ErrUnavailable
		case code >= http.StatusMultipleChoices && code < http.StatusBadRequest:
			return driver.ErrUnavailable // somebody in between sends us elsewhere
		case code < http.StatusMultipleChoices, code == http.StatusRequestTimeout:
			// No agent says so. Somebody in between does, who may not know what an agent
			// has made of the request.
		case code < http.StatusInternalServerError, containsAny(answer.Body, rejections):
			return nil // understood and rejected; no use in trying again
		}
	case !sent, errors.Is(err, errFull):
		return driver.ErrUnavailable
	}
	if write {
		return driver.ErrUncertain
	}
	return driver.ErrUnavailable
}

// isFull reports whether an agent has refused a connection.
func isFull(err error) bool {
	return hasStatus(err, http.StatusTooManyRequests) || errors.Is(err, errFull)
}

// hasStatus reports whether err is an answer with the status code.
func hasStatus(err error, code int) bool {
	var answer api.StatusError
	return errors.As(err, &answer) && answer.Code == code
}

func containsAny(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// cause makes the error that is kept: without the method and URL that package
// http puts before it, which help nobody.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

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
