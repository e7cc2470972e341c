package driver

import (
	"fmt"
	"time"
)

// CheckData returns an error that Is ErrInvalid if data has more than MaxData bytes.
func CheckData(data []byte) error {
	if len(data) > MaxData {
		return fmt.Errorf("%w data: %d bytes; at most %d fit in a node", ErrInvalid, len(data), MaxData)
	}
	return nil
}

// CheckTTL returns an error that Is ErrInvalid, and names the range, if a store that
// grants TTLs from least to most cannot grant ttl (S7).
func CheckTTL(ttl, least, most time.Duration) error {
	if ttl < least || ttl > most {
		return fmt.Errorf("%w TTL: %v; want from %v to %v", ErrInvalid, ttl, least, most)
	}
	return nil
}
