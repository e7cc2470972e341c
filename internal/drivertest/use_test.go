package drivertest_test

import (
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/drivertest"
)

// On a sound driver the shared tests pass.
func TestOnASoundDriver(t *testing.T) {
	drivertest.Use(t, driver.Target{Scheme: "mem", Namespace: t.Name()}, time.Minute)

	c := mem.NewStore().Open("ns")
	drivertest.TryOut(t, c, time.Minute)
	s, err := c.OpenSession(t.Context(), time.Minute)
	drivertest.Must(t, err)
	drivertest.CapsAgree(t, c, s, 0)
	slots := drivertest.CreateAndAbandon(t, s, 1)
	nodes, err := s.List(t.Context(), "d")
	drivertest.Must(t, err)
	if len(nodes) != slots {
		t.Errorf("there are %d nodes; want %d", len(nodes), slots)
	}
	for name, call := range drivertest.Calls() {
		if name == "WaitDelete" {
			continue // it ends with the node
		}
		if err := call(t.Context(), c, s, nodes[0]); err != nil && name != "Update" && name != "Delete" {
			t.Errorf("%s: %v", name, err)
		}
	}
	drivertest.Must(t, c.Close())
}
