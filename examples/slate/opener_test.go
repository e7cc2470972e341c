package slate

import (
	"errors"
	"testing"

	"github.com/coordkit/coordkit/coord"
)

// What slated cannot do is refused before anything is dialed.
func TestRefusedURLs(t *testing.T) {
	for _, url := range []string{
		"slate://a,b/demo",
		"slate://a/demo?session_ttl=1ms",
		"slate://user@a/demo",
		"slate://a/demo?tls=true",
		"slate://a/demo?color=red",
	} {
		if _, err := coord.Open(t.Context(), url); !errors.Is(err, coord.ErrInvalid) {
			t.Errorf("Open of %s: %v; want ErrInvalid", url, err)
		}
	}
}
