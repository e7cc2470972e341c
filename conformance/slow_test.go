package conformance_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

// slowLink is a network whose replies are late for good.
type slowLink struct {
	conformance.Link
	delay time.Duration
}

func (l slowLink) Heal() error {
	err := l.Link.Heal()
	l.Delay(netfault.Down, l.delay)
	return err
}

// Who is cut off again and again over a link whose replies take longer than the
// shortest rest in between is served all the same: not so often that it may give up.
func TestSlowLinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := memHarness(3 * time.Second)
		relink(&h, func(c driver.Conn, l conformance.Link) (driver.Conn, conformance.Link) {
			l.Delay(netfault.Down, h.TTL/8)
			return c, slowLink{l, h.TTL / 8}
		})
		for _, r := range check(t, h, pick(t, "M1", "P1", "R1")...).Results {
			if r.Status != conformance.Passed {
				t.Errorf("%s %v: %s", r.Rule.ID, r.Status, r.Detail)
			}
		}
	})
}
