package testserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// rootModule is the module whose directory is the repository's root.
const rootModule = "github.com/coordkit/coordkit"

// repositoryRoot finds the repository, from the working directory upward, as a
// test runs in its package's directory, or else from where this source was
// compiled, so that a command may be run anywhere.
func repositoryRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if root, ok := rootAbove(start); ok {
		return root, nil
	}
	if _, source, _, ok := runtime.Caller(0); ok {
		if root, ok := rootAbove(filepath.Dir(source)); ok {
			return root, nil
		}
	}
	return "", fmt.Errorf("find the repository of %s: neither %s nor the directory this program was compiled in is below it", rootModule, start)
}

// rootAbove returns the nearest directory from dir upward that holds go.mod of
// the root module. The modules nested in it have names of their own.
func rootAbove(dir string) (string, bool) {
	for {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && declaresRoot(string(mod)) {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

func declaresRoot(mod string) bool {
	for line := range strings.Lines(mod) {
		if fields := strings.Fields(line); len(fields) >= 2 && fields[0] == "module" {
			return fields[1] == rootModule
		}
	}
	return false
}

// requiredVersion returns the version at which the go.mod file at path requires
// module.
func requiredVersion(path, module string) (string, error) {
	mod, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(mod)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && fields[0] == module {
			return fields[1], nil
		}
	}
	return "", errors.New(path + " does not require " + module)
}
