package consul

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/hashicorp/consul/api"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/attempt"
)

// errNotConsul is an answer that no agent gives.
var errNotConsul = errors.New("the server at this address does not answer as a Consul agent does; is the URL right?")

// notTried are what servers say of a request that they did not try to execute.
var notTried = []string{
	"No cluster leader",
	"No known Consul servers",
	"No path to datacenter",
	"Remote DC has no server currently reachable",
	"Raft leader not found in server lookup mapping",
	"rate limit exceeded",        // with status 503 from the leader
	"Missing node registration",  // the agent has only just started
	"Not ready to serve consist", // the leader has only just been elected
}

// explain turns an error of package api into what attempt.Op.Do expects. sent says whether
// the request may have reached an agent.
func explain(o attempt.Op, err error, sent bool) error {
	answer, answered := errors.AsType[api.StatusError](err)
	_, known := err.(*driver.Error) // not what it wraps: that may be the cause of a ctx
	switch {
	case err == nil, known:
		return err
	case answered:
		return explainStatus(o, answer)
	case errors.Is(err, errNotConsul), isNotJSON(err):
		return o.Failed(driver.ErrInvalid, errNotConsul)
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the method and the URL help nobody
	}
	err = errors.New(err.Error()) // a dialer's time-out must not pass for the end of the caller's ctx
	if !sent {
		return attempt.NotSent(err)
	}
	return err
}

// isNotJSON reports whether a body could not be decoded, although all of it came.
func isNotJSON(err error) bool {
	_, syntax := errors.AsType[*json.SyntaxError](err)
	_, kind := errors.AsType[*json.UnmarshalTypeError](err)
	return syntax || kind
}

// explainStatus says what a status other than success means.
func explainStatus(o attempt.Op, a api.StatusError) error {
	lost := driver.ErrUnavailable // the kind of an answer that does not tell what happened
	if o.Write {
		lost = driver.ErrUncertain
	}
	text := fmt.Errorf("status %d: %.300s", a.Code, a.Body) // a page is cut
	switch {
	case a.Code == http.StatusForbidden, a.Code == http.StatusUnauthorized:
		return o.Failed(driver.ErrDenied, text)
	case a.Code == http.StatusTooManyRequests, containsAny(a.Body, notTried):
		return o.Failed(driver.ErrUnavailable, text)
	case a.Code == http.StatusNotFound, a.Code == http.StatusMethodNotAllowed, a.Code >= 300 && a.Code < 400:
		return o.Failed(driver.ErrInvalid, fmt.Errorf("%w (%w)", errNotConsul, text))
	case a.Code == http.StatusRequestTimeout, a.Code < 300: // a proxy says so, and may not know
		return o.Failed(lost, text)
	case a.Code < 500, strings.Contains(a.Body, "Invalid Session TTL"), strings.Contains(a.Body, "cross datacenter lock"):
		return o.Failed(driver.ErrInvalid, text)
	}
	return o.Failed(lost, text)
}

// explainRefusal says what a transaction was refused for, if that was no condition.
func explainRefusal(o attempt.Op, what string) error {
	switch {
	case containsAny(what, []string{"Permission denied", "ACL not found"}):
		return o.Failed(driver.ErrDenied, errors.New(what))
	case strings.Contains(what, "invalid session"):
		return o.Failed(driver.ErrSessionLost, errors.New("the store knows no such session"))
	case strings.Contains(what, "due to lock delay"): // of a session of an operator that had the key
		return o.Failed(driver.ErrUnavailable, errors.New(what))
	}
	return nil
}

// errFiltered: Consul leaves out keys that the token may not read, as if they were gone.
var errFiltered = errors.New("the token may not read all keys of the namespace")

func containsAny(text string, parts []string) bool {
	for _, part := range parts {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}
