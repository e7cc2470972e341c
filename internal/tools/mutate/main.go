// Mutate measures what the conformance suite finds: it changes the source of some
// packages one place at a time, and runs the suite alone on each change, in virtual time.
// A changed program is a mutant. A mutant is killed if a rule of the suite fails, or if
// the program panics, deadlocks or runs away. Mutate prints, for each package, the share
// of its mutants that are killed, and lists the survivors.
//
//	go run ./mutate                              # in internal/tools: all packages
//	go run ./mutate -packages drivers/mem        # only those whose path has that prefix
//	go run ./mutate -without programs            # in a third of the time, and it finds less
//	go run ./mutate -run 17 -v                   # one mutant, with what the suite prints
//	go run ./mutate -log /tmp/log                # and once more: only what survived, or was not reached
//	go run ./mutate -root ~/mystore -driver .    # the driver in that directory, by its own TestVirtual
//
// Each package is rewritten once with all its mutants in it, each behind a test of an
// environment variable. The rewritten files reach the compiler as an overlay, so the tree
// stays as it is, and one binary serves all mutants: a mutant costs a process of about a
// second and no compilation. (gremlins, the tool that is kept best, compiles for each
// mutant, runs the tests of the mutated package or of all packages, and has no mutations
// that drop statements or swap calls.)
//
// operators.go says what is changed. A survivor that behaves like the original is listed
// with the reason in equivalents.txt; it does not count. An entry of that file that fits
// no mutant, or one that is killed, is an error. Mutate exits with status 1 on such an
// error, or if the share of a package is below its goal.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	var o options
	root := flag.String("root", "../..", "the directory of the module whose packages are mutated")
	flag.StringVar(&o.packages, "packages", "", "mutate only packages whose path below the module begins with this")
	flag.IntVar(&o.only, "run", 0, "run only the mutant with this number")
	flag.StringVar(&o.without, "without", "", "leave out the variants that this regular expression matches")
	flag.StringVar(&o.log, "log", "", "note what became of each mutant in this file, and do not run again what it says was killed")
	flag.BoolVar(&o.verbose, "v", false, "print what the suite prints")
	flag.BoolVar(&o.list, "list", false, "list the mutants and run nothing")
	flag.IntVar(&o.processes, "processes", 2, "how many mutants run at a time")
	flag.StringVar(&o.survivors, "survivors", "", "also write the survivors of each package to a file in this directory")
	driver := flag.String("driver", "", "mutate this package below -root instead, and run its TestVirtual on each mutant")
	equivalents := flag.String("equivalents", "", "with -driver: the file of its mutants that behave like the original")
	flag.DurationVar(&o.patience, "patience", 2*time.Second, "how much processor time a mutant gets beyond five times the original's")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if o.root, err = filepath.Abs(*root); err == nil {
		o.equivalents = filepath.Join(o.root, "internal/tools/mutate/equivalents.txt")
		run := suites
		if *driver != "" {
			o.equivalents, run = *equivalents, []suite{suiteOf(*driver)}
		}
		err = mutate(ctx, os.Stdout, o, run)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	root, packages, survivors, log, without, equivalents string
	only, processes                                      int
	patience                                             time.Duration // with what takes longer than the original
	verbose, list                                        bool
}

// target is a package that is mutated.
type target struct {
	path  string   // below the module
	goal  int      // the least share that has to be killed, in percent
	aside []string // files that are counted apart and have no goal
}

// suite is a test binary that runs the conformance suite in virtual time on one store,
// as subtests of TestVirtual, each called a variant.
type suite struct {
	test     string   // the package of the test
	variants []string // in the order in which a mutant is tried
	targets  []target
}

var suites = []suite{
	{"conformance", []string{"driver", "calls", "recipes", "programs"}, []target{
		// What breaks the link, acts as an operator and reads URLs is for tests and
		// programs: to the suite it is a part of the harness.
		{"drivers/mem", 95, []string{"link.go", "fault.go", "open.go"}},
	}},
	{"examples/slate", []string{"driver", "calls", "recipes", "programs"}, []target{
		{"examples/slate", 95, []string{"opener.go"}},
	}},
	{"conformance", []string{"recipes", "plain", "like etcd", "like ZooKeeper", "programs", "programs like ZooKeeper"}, []target{
		{"coord/queue", 90, nil},
		{"recipes/election", 90, nil},
		{"recipes/mutex", 90, nil},
		{"recipes/rwlock", 90, nil},
		{"recipes/semaphore", 90, nil},
	}},
}

// suiteOf is the suite of a driver that is not in this repository: the TestVirtual of its
// package, as a whole.
func suiteOf(driver string) suite {
	driver = path.Clean(filepath.ToSlash(driver))
	return suite{driver, []string{whole}, []target{{path: driver}}}
}

// whole is the variant of a suite that is run as a whole.
const whole = "all"

// mutate runs all that the options ask for, and prints what was found. The error says
// whether that falls short of the goals.
func mutate(ctx context.Context, w io.Writer, o options, suites []suite) error {
	known, err := readEquivalents(o.equivalents)
	if err != nil {
		return err
	}
	var without *regexp.Regexp
	if o.without != "" {
		if without, err = regexp.Compile(o.without); err != nil {
			return err
		}
	}
	var rows []row
	found := false
	for _, s := range suites {
		s.targets = selected(s.targets, o.packages)
		s.variants = slices.DeleteFunc(slices.Clone(s.variants), func(v string) bool { return without != nil && without.MatchString(v) })
		if len(s.targets) == 0 {
			continue
		}
		found = true
		more, err := s.run(ctx, o, known)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	if !found {
		return fmt.Errorf("no package that is mutated begins with %q; want drivers/mem, examples/slate, coord/queue or recipes", o.packages)
	}
	if o.list || o.only != 0 {
		return nil
	}
	return report(w, rows, known)
}

func selected(targets []target, prefix string) (some []target) {
	for _, t := range targets {
		if strings.HasPrefix(t.path, prefix) {
			some = append(some, t)
		}
	}
	return some
}
