package chart_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/coordkit/coordkit/bench/chart"
)

func ExampleBars() {
	dir, err := os.MkdirTemp("", "chart-*")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	svg := chart.Bars("Locks on one server", "operations per second", []chart.Group{
		{Label: "uncontended", Bars: []chart.Bar{
			{Label: "this library", Value: 1390, Low: 1320, High: 1455},
			{Label: "another one", Value: 1171, Low: 1102, High: 1190},
		}},
		{Label: "32 sessions", Bars: []chart.Bar{
			{Label: "this library", Value: 1110, Low: 1046, High: 1139},
			{Label: "another one", Value: 319, Low: 301, High: 333},
		}},
	})
	if err := os.WriteFile(filepath.Join(dir, "locks.svg"), svg, 0o644); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s\n", svg[:78])
	// Output: <svg xmlns="http://www.w3.org/2000/svg" width="820" height="244" viewBox="0 0
}
