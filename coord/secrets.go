package coord

import (
	"fmt"
	"os"
	"strings"

	"github.com/coordkit/coordkit/coord/driver"
)

// secret reads a secret from a file or an environment variable, not both.
// Whoever names a place for it and leaves the place empty has made a mistake.
func secret(what, file, env string) (driver.Secret, error) {
	var value, place string
	switch {
	case file != "" && env != "":
		return "", fmt.Errorf("%w configuration: both %s_file and %s_env are given", ErrInvalid, what, what)
	case file != "":
		b, err := os.ReadFile(file)
		if err != nil {
			return "", fmt.Errorf("%w configuration: %s_file: %w", ErrInvalid, what, err)
		}
		value = strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")
		place = "file " + file
	case env != "":
		value = os.Getenv(env)
		place = "environment variable " + env
	default:
		return "", nil
	}
	if value == "" {
		return "", fmt.Errorf("%w configuration: the %s in %s is empty", ErrInvalid, what, place)
	}
	return driver.Secret(value), nil
}
