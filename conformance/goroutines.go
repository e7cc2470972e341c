package conformance

import (
	"bytes"
	"context"
	"runtime/pprof"
	"strconv"
	"strings"
)

// Goroutines inherit the profiler labels of the one that starts them. So each
// case runs under a label, and what its drivers have started can be told apart
// from the goroutines of the cases beside it.
const goroutineLabel = "conformance"

// labeled runs f under the label.
func labeled(name string, f func()) { relabeled(context.Background(), name, f) }

// labeled runs a part of a check under a label of its own, and returns the
// label. The third client, which stays, does not belong to the part.
func (t *Trial) labeled(part string, f func()) (name string) {
	t.third()
	name = t.namespace + " " + part
	relabeled(pprof.WithLabels(context.Background(), pprof.Labels(goroutineLabel, t.namespace)), name, f)
	return name
}

// relabeled runs f under the label, and leaves the goroutine with those of ctx.
func relabeled(ctx context.Context, name string, f func()) {
	pprof.Do(ctx, pprof.Labels(goroutineLabel, name), func(context.Context) { f() })
}

// stacks returns the stacks of the goroutines that run under the label, equal
// ones only once, each beginning with how many there are of it.
func stacks(name string) []string {
	var profile bytes.Buffer
	// Writing to a Buffer does not fail.
	_ = pprof.Lookup("goroutine").WriteTo(&profile, 1)
	_, records, _ := strings.Cut(profile.String(), "\n") // behind "goroutine profile: total 12"
	want := strconv.Quote(goroutineLabel) + ":" + strconv.Quote(name)
	var found []string
	for _, record := range strings.Split(records, "\n\n") {
		if strings.Contains(record, want) {
			found = append(found, tidyStack(record))
		}
	}
	return found
}

// goroutines counts those of which stacks returned the stacks.
func goroutines(stacks []string) (sum int) {
	for _, s := range stacks {
		n, _, _ := strings.Cut(s, " ")
		count, _ := strconv.Atoi(n) // as tidyStack has written it
		sum += count
	}
	return sum
}

// tidyStack makes "N goroutines at f < g < h" of a record of the profile:
//
//	N @ 0x… 0x…
//	# labels: {…}
//	#	0x48…	time.Sleep+0x12	/usr/…/time.go:12
func tidyStack(record string) string {
	count, _, _ := strings.Cut(record, " @")
	var calls []string
	for _, line := range strings.Split(record, "\n") {
		if f := strings.Fields(line); len(f) >= 4 && f[0] == "#" && strings.HasPrefix(f[1], "0x") {
			name := f[2][strings.LastIndexByte(f[2], '/')+1:]
			name, _, _ = strings.Cut(name, "+0x")
			calls = append(calls, name)
		}
	}
	return strings.TrimSpace(count) + " at " + strings.Join(calls, " < ")
}
