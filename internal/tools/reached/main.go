// Command reached counts the select cases and the early returns of a package, by file,
// and how many of them a coverage profile has seen run. It fails if one has not run that
// the list of exceptions does not name. `make reached` runs it on package queue.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	profile := flag.String("profile", "", "the coverage `file`")
	except := flag.String("except", "", "a `file` of what need not be reached: a place and the reason on each line")
	flag.Parse()
	if err := run(*profile, *except, flag.Arg(0)); err != nil {
		fmt.Fprintln(os.Stderr, "reached:", err)
		os.Exit(1)
	}
}

func run(profile, except, dir string) error {
	seen, err := readProfile(profile)
	if err != nil {
		return err
	}
	excused, err := readExceptions(except)
	if err != nil {
		return err
	}
	places, err := placesIn(dir)
	if err != nil {
		return err
	}
	var missed, excepted []string
	counts := make(map[string]*[2]int) // reached and all, by file
	var files []string
	for _, p := range places {
		if counts[p.file] == nil {
			counts[p.file] = new([2]int)
			files = append(files, p.file)
		}
		counts[p.file][1]++
		where := fmt.Sprintf("%s (%s:%d)", p, p.file, p.line)
		switch why, known := excused[p.String()]; {
		case seen.ran(p):
			counts[p.file][0]++
		case known:
			excepted = append(excepted, where+": "+why)
		default:
			missed = append(missed, where)
		}
		delete(excused, p.String())
	}
	for name := range excused {
		missed = append(missed, name+", which is excepted and is no place")
	}
	for _, f := range files {
		fmt.Printf("%-14s %3d of %3d reached\n", f, counts[f][0], counts[f][1])
	}
	for _, e := range excepted {
		fmt.Println("not reached:", e)
	}
	if len(missed) > 0 {
		return fmt.Errorf("not reached, and not excepted:\n%s", strings.Join(missed, "\n"))
	}
	return nil
}
