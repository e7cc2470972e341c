// Command printreports prints what tests have shown into the directory that it
// is given: see package report.
package main

import (
	"fmt"
	"os"

	"github.com/coordkit/coordkit/internal/report"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: printreports directory")
		os.Exit(2)
	}
	if err := report.Print(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "printreports:", err)
		os.Exit(1)
	}
}
