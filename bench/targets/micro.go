package targets

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"github.com/coordkit/coordkit/bench/stats"
)

// Micro is what microbenchmarks have measured: by their name, without the
// number of processors, and by unit, as "ns/op".
type Micro map[string]map[string][]float64

// ReadMicro reads what `go test -bench` writes.
func ReadMicro(r io.Reader) (Micro, error) {
	m := make(Micro)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(f[0], "Benchmark")
		if i := strings.LastIndexByte(name, '-'); i > 0 {
			if _, err := strconv.Atoi(name[i+1:]); err == nil {
				name = name[:i]
			}
		}
		if m[name] == nil {
			m[name] = make(map[string][]float64)
		}
		for i := 2; i+1 < len(f); i += 2 {
			value, err := strconv.ParseFloat(f[i], 64)
			if err != nil {
				return nil, err
			}
			m[name][f[i+1]] = append(m[name][f[i+1]], value)
		}
	}
	return m, lines.Err()
}

// Judge judges what is to hold on the embedded store.
func (m Micro) Judge() []Verdict {
	var all []Verdict
	bound := func(what string, most float64, measured float64, ok bool) {
		v := Verdict{Target: Target{Store: "mem", Members: 1, Case: "micro", What: what, Bound: most, Most: true}, State: Unmeasured, Ran: len(m) > 0}
		if ok {
			v.decide(figure{measured, measured, measured})
		}
		all = append(all, v)
	}
	of := func(name, unit string) (float64, bool) {
		values := m[name][unit]
		if len(values) == 0 {
			return 0, false
		}
		return stats.Median(values), true
	}
	took, ok := of("Uncontended/mutex", "ns/op")
	bound("ns per uncontended lock and unlock", 2000, took, ok)
	allocs, ok := of("Uncontended/mutex", "allocs/op")
	bound("allocations per uncontended lock and unlock", 12, allocs, ok)
	handoff, ok := of("Handoff/clients/1", "ns/op")
	bound("ns per contended handoff", 5000, handoff, ok)
	one, ok1 := of("Handoff/one-client/1", "ns/op")
	many, ok2 := of("Handoff/one-client/10000", "ns/op")
	ratio := 0.0
	if ok1 && ok2 {
		ratio = many / one
	}
	// Flat, but for caches that 10,000 waiters no longer fit in.
	bound("times the cost of a handoff, with 10,000 waiters beside 1", 1.5, ratio, ok1 && ok2)
	return all
}
