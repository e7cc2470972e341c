package consul

import (
	"context"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/hashicorp/consul/api"
)

// said is an answer to what goes directly.
type said struct {
	meta   api.QueryMeta // the index and what ACLs have to do with it
	status int
	json   bool // as agents say of what they answer with
	body   []byte
}

func newSaid(status int, h header) *said {
	a := &said{status: status, json: strings.HasPrefix(h.kind, "application/json")}
	if n, err := strconv.ParseUint(h.index, 10, 64); err == nil { // otherwise it is 0: see answered
		a.meta.LastIndex = n
	}
	a.meta.ResultsFilteredByACLs = h.filtered == "true"
	a.meta.DefaultACLPolicy = h.policy
	return a
}

// failure is the error that package api makes of an answer.
func (a *said) failure() error {
	return api.StatusError{Code: a.status, Body: strings.TrimSpace(string(a.body))}
}

// converse sends a request and returns the answer. It is sent again, if that is asked for,
// where an agent has closed a connection that was idle before it has answered.
func (p *pool) converse(ctx context.Context, request []byte, again bool) (a *said, err error) {
	err = p.use(ctx, again, func(c *channel) (err error) {
		a, err = c.converse(ctx, request)
		return err
	})
	return a, err
}

// converse sends a request and reads the answer, after which the connection is given
// back. With an error, or with ctx, it is closed.
func (c *channel) converse(ctx context.Context, request []byte) (*said, error) {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() }) // may be closed already
	_, failure := c.Write(request)
	a, last, err := c.hear()
	kept := stop()
	if err != nil {
		_ = c.Close()       // likewise
		if failure != nil { // else an agent that has closed the connection has said why
			err = failure
		}
		return nil, err
	}
	c.pool.give(c, kept && !last && failure == nil && c.in.Buffered() == 0)
	return a, nil
}

// hear reads an answer. The last is one after which the connection is of no use. Of what
// an agent refuses the status tells enough, also if the reason is cut off. A page that
// somebody in between has made may be long, and is not read.
func (c *channel) hear() (a *said, last bool, err error) {
	c.left, c.heard = maxHeader, false
	a, length, plain := c.plainHead()
	var body io.Reader
	if plain {
		c.left = math.MaxInt64
	} else {
		resp, err := c.response(nil)
		if err != nil {
			return nil, true, err
		}
		a, body, last = newSaid(resp.StatusCode, headerOf(resp)), resp.Body, resp.Close
	}
	switch {
	case a.status == http.StatusOK && !a.json:
		return nil, true, errNoAgent
	case plain:
		a.body, err = readBody(c.in, length)
	default:
		a.body, err = io.ReadAll(body)
	}
	if err != nil && a.status != http.StatusOK {
		return a, true, nil
	}
	return a, last || err != nil, err
}

// readBody reads a body of a length. What is said to be long is believed only as it
// comes.
func readBody(in io.Reader, length int64) (body []byte, err error) {
	const long = 1 << 20
	if length <= long {
		body = make([]byte, length)
		n, err := io.ReadFull(in, body)
		return body[:n], err
	}
	body, err = io.ReadAll(io.LimitReader(in, length))
	if err == nil && int64(len(body)) < length {
		err = io.ErrUnexpectedEOF
	}
	return body, err
}
