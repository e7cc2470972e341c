// Package drivertest is what the tests of all drivers begin with: servers that
// the tests of a package share, small assertions, and the run of the conformance
// suite, with its table in the report. What a driver has of its own, as its
// fixture and its way to look into the store, stays with the driver.
package drivertest
