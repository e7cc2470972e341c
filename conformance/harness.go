package conformance

import (
	"context"
	"errors"
	"fmt"

	"github.com/coordkit/coordkit/conformance/harness"
	"github.com/coordkit/coordkit/coord/driver"
)

// The types of package harness, by the names under which a driver author meets
// them.
type (
	// Harness says how to reach a store through the driver under test, and how to
	// do to the store what the driver cannot.
	Harness = harness.Harness
	// Link is a network that fails on command.
	Link = harness.Link
	// Residue is what a store holds, counted in the store itself.
	Residue = harness.Residue
)

// Unknown is a count that the store cannot give.
const Unknown = harness.Unknown

// WideCounter is the NearWrap of a store whose counter has 64 bits.
func WideCounter(ctx context.Context, namespace, dir string) error {
	return harness.WideCounter(ctx, namespace, dir)
}

// NoHistory is the Compact of a store that knows the present only.
func NoHistory(ctx context.Context, namespace string) error {
	return harness.NoHistory(ctx, namespace)
}

// NoForeign is the PlantForeign of a store that can hold nothing but nodes in a
// directory, as a database whose constraints refuse any other row.
func NoForeign(ctx context.Context, namespace, dir string) error {
	return harness.NoForeign(ctx, namespace, dir)
}

// Need is a set of what a case asks of the harness.
type Need uint

// The needs, named like the fields of Harness.
const (
	NeedLink Need = 1 << iota
	NeedHold
	NeedExpire
	NeedRemoveNode
	NeedRemoveDir
	NeedPlantForeign
	NeedNearWrap
	NeedCompact
	NeedResidue
	NeedBadTTL
)

// missing returns the reason why a case with these needs cannot run on h, or "".
func missing(h Harness, needs Need) string {
	for _, f := range []struct {
		need Need
		has  bool
		text string
	}{
		{NeedLink, h.OpenLink != nil, "OpenLink: no link that can be broken"},
		{NeedHold, h.OpenLink != nil && h.Hold != nil, "Hold: no way to let a request be overtaken"},
		{NeedExpire, h.Expire != nil, "Expire: no way to end a session in the store"},
		{NeedRemoveNode, h.RemoveNode != nil, "RemoveNode: no operator who removes a node"},
		{NeedRemoveDir, h.RemoveDir != nil, "RemoveDir: no operator who removes a directory"},
		{NeedPlantForeign, h.PlantForeign != nil, "PlantForeign: no foreign keys"},
		{NeedNearWrap, h.NearWrap != nil, "NearWrap: no way to bring the counter near its wrap"},
		{NeedCompact, h.Compact != nil, "Compact: no way to make the store forget its history"},
		{NeedResidue, h.Residue != nil, "Residue: no way to count what is left in the store"},
		{NeedBadTTL, h.BadTTL != nil, "BadTTL: no TTL known that the store refuses"},
	} {
		if needs&f.need != 0 && !f.has {
			return "the harness has no " + f.text
		}
	}
	return ""
}

// complete checks h, with its waivers of rules, and fills in what is left out.
func complete(h Harness, rules []Rule) (Harness, error) {
	known := make(map[string]bool)
	for _, r := range rules {
		known[r.ID] = true
	}
	var errs []error
	for id, reason := range h.Waive {
		if !known[id] {
			errs = append(errs, fmt.Errorf("%w: conformance: there is a waiver for %q, which is no rule", driver.ErrInvalid, id))
		}
		if reason == "" {
			errs = append(errs, fmt.Errorf("%w: conformance: the waiver for %s gives no reason", driver.ErrInvalid, id))
		}
	}
	h, err := h.Complete()
	return h, errors.Join(append(errs, err)...)
}
