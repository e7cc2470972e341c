// Package storetest holds no code but tests: what the recipes promise and cost
// on each store, tried and counted on real servers under real faults.
package storetest
