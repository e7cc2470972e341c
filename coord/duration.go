package coord

import (
	"fmt"
	"time"
)

// Duration is a time.Duration that reads and writes itself as text ("15s",
// "1m30s"), so that it can stand in JSON, YAML and the environment.
type Duration time.Duration

// String returns the duration as time.Duration does.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText writes the duration as "15s".
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%w duration %q: want a number with a unit, as 15s or 1m30s", ErrInvalid, text)
	}
	*d = Duration(v)
	return nil
}
