package conformance_test

import (
	"context"
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/internal/sabotage"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/drivertest"
)

// Every rule holds in virtual time on the reference driver, and the recipes' rules also
// where its sessions have the optional interfaces and capabilities of another store.
func TestVirtual(t *testing.T) {
	type change func(conformance.Harness) conformance.Harness
	on := func(change change) func(*testing.T) conformance.Harness {
		return func(*testing.T) conformance.Harness { return change(memHarness(time.Second)) }
	}
	as := func(caps driver.Caps) change {
		return func(h conformance.Harness) conformance.Harness { return withCaps(h, caps) }
	}
	same := func(h conformance.Harness) conformance.Harness { return h }
	etcd := as(driver.CapCreateList | driver.CapWaitAny | driver.CapWatch)
	zk := as(driver.CapCreateList | driver.CapListNames | driver.CapWaitAny | driver.CapWatch)
	zkNames := func(h conformance.Harness) conformance.Harness { return zk(sabotage.Names(h)) }
	recipes, programs := conformance.RecipeRules(), drivertest.Random("G2")
	drivertest.Virtual(t,
		drivertest.Variant{Name: "driver", Rules: conformance.DriverRules(), Open: on(same)},
		drivertest.Variant{Name: "calls", Rules: drivertest.Random("G1"), Open: on(same)},
		drivertest.Variant{Name: "recipes", Rules: recipes, Open: on(same)},
		drivertest.Variant{Name: "plain", Rules: recipes, Open: on(withoutFastPaths)},
		drivertest.Variant{Name: "like etcd", Rules: recipes, Open: on(etcd)},
		drivertest.Variant{Name: "like ZooKeeper", Rules: recipes, Open: on(zkNames)},
		drivertest.Variant{Name: "programs", Rules: programs, Open: on(same)},
		drivertest.Variant{Name: "programs like ZooKeeper", Rules: programs, Open: on(zkNames)},
	)
}

// withCaps has connections declare the capabilities.
func withCaps(h conformance.Harness, caps driver.Caps) conformance.Harness {
	open, openLink := h.Open, h.OpenLink
	h.Open = func(ctx context.Context, namespace string) (driver.Conn, error) {
		c, err := open(ctx, namespace)
		return capsConn{c, caps}, err
	}
	h.OpenLink = func(ctx context.Context, namespace string) (driver.Conn, conformance.Link, error) {
		c, l, err := openLink(ctx, namespace)
		return capsConn{c, caps}, l, err
	}
	return h
}

type capsConn struct {
	driver.Conn
	caps driver.Caps
}

func (c capsConn) Caps() driver.Caps { return c.caps }

// Unwrap lets it be watched all the same.
func (c capsConn) Unwrap() any { return c.Conn }
