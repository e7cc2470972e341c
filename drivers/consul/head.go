package consul

import (
	"bytes"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

// header is what is of interest in the header of an answer.
type header struct{ kind, length, index, filtered, policy string }

func headerOf(resp *http.Response) header {
	return header{
		kind:     resp.Header.Get("Content-Type"),
		index:    resp.Header.Get("X-Consul-Index"),
		filtered: resp.Header.Get("X-Consul-Results-Filtered-By-ACLs"),
		policy:   resp.Header.Get("X-Consul-Default-ACL-Policy"),
	}
}

// plainHead reads the header of an answer if it has come in whole and is as agents mostly
// write it. If not it reads nothing, and leaves it to package http.
func (c *channel) plainHead() (a *said, length int64, ok bool) {
	if _, err := c.in.Peek(1); err != nil {
		return nil, 0, false // and again if it is asked for
	}
	b, _ := c.in.Peek(c.in.Buffered()) // it is there
	end := bytes.Index(b, []byte("\r\n\r\n"))
	if end < 0 {
		return nil, 0, false
	}
	if a, length, ok = readHead(string(b[:end])); ok {
		_, _ = c.in.Discard(end + len("\r\n\r\n")) // likewise
	}
	return a, length, ok
}

// readHead reads the header of an answer, if its status is common and its body has a
// known length, after which the next answer can follow. If not, or where it is in doubt,
// it says so.
func readHead(text string) (a *said, length int64, ok bool) {
	line, rest, _ := strings.Cut(text, "\r\n")
	status := 0
	switch line {
	case "HTTP/1.1 200 OK":
		status = http.StatusOK
	case "HTTP/1.1 404 Not Found":
		status = http.StatusNotFound
	default:
		return nil, 0, false
	}
	var h header
	for rest != "" {
		line, rest, _ = strings.Cut(rest, "\r\n")
		name, value, found := strings.Cut(line, ":")
		if !found || !isToken(name) || !isPlain(value) {
			return nil, 0, false
		}
		if value = textproto.TrimString(value); !h.take(name, value) {
			return nil, 0, false
		}
	}
	n, err := strconv.ParseUint(h.length, 10, 63)
	if err != nil { // there is none
		return nil, 0, false
	}
	return newSaid(status, h), int64(n), true
}

// take takes note of a field. It reports false of what package http has to see.
func (h *header) take(name, value string) bool {
	field := &h.kind
	switch is := func(s string) bool { return len(name) == len(s) && strings.EqualFold(name, s) }; {
	case is("Content-Type"):
	case is("Content-Length"):
		field = &h.length
	case is("X-Consul-Index"):
		field = &h.index
	case is("X-Consul-Results-Filtered-By-ACLs"):
		field = &h.filtered
	case is("X-Consul-Default-ACL-Policy"):
		field = &h.policy
	case is("Transfer-Encoding"), is("Connection"), is("Trailer"), is("Upgrade"):
		return false
	default:
		return true
	}
	if *field != "" || value == "" { // there is more than one, or it is odd
		return false
	}
	*field = value
	return true
}

// isToken reports whether a text can be the name of a field, of those that are common.
func isToken(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-':
		default:
			return false
		}
	}
	return s != ""
}
