package sabotage_test

import (
	"context"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/conformance/internal/sabotage"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// The suite sees that a driver's Caps lie.
func Example() {
	store := mem.NewStore()
	sound := conformance.Harness{
		Name: "mem",
		TTL:  time.Second,
		Open: func(_ context.Context, namespace string) (driver.Conn, error) { return store.Open(namespace), nil },
	}
	var rules []conformance.Rule
	for _, r := range conformance.DriverRules() {
		if r.ID == "F3" || r.ID == "C5" {
			rules = append(rules, r)
		}
	}
	for _, s := range sabotage.All() {
		if s.Name != "caps-without-interface" {
			continue
		}
		report, err := conformance.Check(context.Background(), s.Apply(sound), conformance.Options{Rules: rules})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, r := range report.With(conformance.Failed) {
			fmt.Println(r.Rule.ID, r.Detail)
		}
	}
	// Output:
	// F3 both ways: Caps has create-list: true; its sessions implement it: false
}
