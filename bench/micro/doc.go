// Package micro has benchmarks of what every lock costs in the client: recipes
// on the embedded store, which answers at once, with allocations. They are
// compared with earlier ones by benchstat.
package micro
