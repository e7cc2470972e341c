package wire

import (
	"bufio"
	"io"
	"net/http"
	"strings"
)

// HTTP counts the requests of a client of Consul, but for renewals of sessions.
func HTTP(said io.Reader, request func()) {
	r := bufio.NewReader(said)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if !strings.HasPrefix(req.URL.Path, "/v1/session/renew/") {
			request()
		}
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			return
		}
	}
}
