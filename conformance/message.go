package conformance

import "fmt"

// errorOf prints what a call returned as its error, also when that was nil.
func errorOf(err error) string {
	if err == nil {
		return "nil"
	}
	return fmt.Sprintf("%q", err)
}
