package netfault

import "fmt"

// Direction says which of the two byte streams of a connection is meant. Its
// values combine with |.
type Direction uint8

const (
	// Up is from the client to the server: requests.
	Up Direction = 1 << iota
	// Down is from the server to the client: replies and events.
	Down
	// Both is Up and Down.
	Both = Up | Down
)

// String returns "up", "down" or "both".
func (d Direction) String() string {
	switch d {
	case Up:
		return "up"
	case Down:
		return "down"
	case Both:
		return "both"
	}
	return fmt.Sprintf("Direction(%d)", uint8(d))
}

// has reports whether d includes the single direction one.
func (d Direction) has(one Direction) bool { return d&one != 0 }

// index is where a single direction is kept in a pair.
func (d Direction) index() int { return int(d) - 1 }
