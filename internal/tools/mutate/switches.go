package main

import (
	_ "embed"
	"strings"
)

//go:embed switches.txt
var switchesText string

// switches is the file that is added to a package: the functions that turn mutants on.
func switches(pkg string) string {
	return strings.Replace(switchesText, "package x", "package "+pkg, 1)
}
