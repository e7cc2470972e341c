package h2

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

var errNoStatus = errors.New("the server ended the call without a status")

// ends takes a header of the server's. It reports whether that is the end of the
// stream, and the error that the server ends it with, which is of package status.
func ends(f *http2.MetaHeadersFrame) (done bool, err error) {
	if answer := f.PseudoValue("status"); answer != "" && answer != "200" {
		return true, fmt.Errorf("whoever answers is no server of gRPC: HTTP status %s", answer)
	}
	if !f.StreamEnded() {
		return false, nil
	}
	code, message := "", ""
	for _, field := range f.RegularFields() {
		switch field.Name {
		case "grpc-status":
			code = field.Value
		case "grpc-message":
			message = field.Value
		}
	}
	n, err := strconv.ParseUint(code, 10, 32)
	switch {
	case err != nil:
		return true, errNoStatus
	case n == 0:
		return true, nil
	}
	if plain, err := url.PathUnescape(message); err == nil {
		message = plain
	}
	return true, status.Error(codes.Code(n), message)
}
