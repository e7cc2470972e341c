// Package peers has the sides of a contest on each store: coordkit, the locks that
// come with the store's own Go client, and the floor.
package peers
