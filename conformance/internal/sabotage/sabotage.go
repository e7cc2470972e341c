// Package sabotage holds drivers that are broken on purpose, to show that the
// conformance suite catches what it claims to catch.
//
// Each [Sabotage] wraps the sound driver of a harness and breaks one promise,
// in a way in which a real driver or recipe library has broken it, and no
// other: run against it, the suite must fail the rule named and only that. It
// needs a harness with everything in it, such as that of package drivers/mem. What
// the driver does not offer (Needs) cannot be broken.
package sabotage

import (
	"slices"

	"github.com/coordkit/coordkit/conformance"
	"github.com/coordkit/coordkit/coord/driver"
)

// Sabotage is a way to break a driver.
type Sabotage struct {
	// Name says what is wrong, in a few words joined by hyphens.
	Name string
	// Breaks is the ID of the rule that must fail.
	Breaks string
	// Like is the rule of a plain call that is broken in the optional one: the cases
	// that run that rule's checks again fail. It is empty if the fault is another.
	Like string
	// Needs is what the driver must offer, or there is nothing to break.
	Needs driver.Caps
	// Doc says what the driver does, and who did so.
	Doc string
	// Apply returns h with its driver broken. What it returns serves one run.
	Apply func(h conformance.Harness) conformance.Harness
}

// All returns every sabotage, at least one for each rule, in the order of the
// rules. The caller may change the slice.
func All() []Sabotage {
	return slices.Concat(
		ctxSabotages(),
		endSabotages(),
		leaseSabotages(),
		closeAgainSabotages(),
		openingSabotages(),
		closeSabotages(),
		createSabotages(),
		slotSabotages(),
		dataSabotages(),
		listSabotages(),
		orderSabotages(),
		waitSabotages(),
		waitLeftSabotages(),
		updateSabotages(),
		lateSabotages(),
		unawareSabotages(),
		errorSabotages(),
		paceSabotages(),
		needing(driver.CapCreateList, createListSabotages()),
		needing(driver.CapWaitAny, waitAnySabotages()),
		needing(driver.CapCreateList, namesSabotages()),
		optionalSabotages(),
		needing(driver.CapWatch, slices.Concat(
			watchSabotages(),
			watchOrderSabotages(),
			watchHealSabotages(),
			watchEndSabotages(),
			watchLeftSabotages(),
		)),
		capsSabotages(),
		leftoverSabotages(),
		manySabotages(),
		closeOtherSabotages(),
		alikeSabotages(),
		quietSabotages(),
		backoffSabotages(),
		doubtSabotages(),
		doubtManySabotages(),
	)
}

// needing says of a list that each of it breaks what is optional.
func needing(caps driver.Caps, list []Sabotage) []Sabotage {
	for i := range list {
		list[i].Needs |= caps
	}
	return list
}
