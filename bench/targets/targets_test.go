package targets_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/report"
	"github.com/coordkit/coordkit/bench/servers"
	"github.com/coordkit/coordkit/bench/targets"
	"github.com/coordkit/coordkit/bench/work"
)

func Example() {
	run := &report.Run{Contests: []report.Contest{{Store: servers.Etcd, Members: 1, Case: "keys-64",
		Entries: []report.Entry{{Side: contest.Ours, Median: 900}, {Side: "Mutex", Median: 1000, Ratio: 0.9}}}}}
	for _, v := range targets.Judge(run) {
		if v.State != targets.Unmeasured {
			fmt.Println(v.Store, v.Case, v.What, v.Bounds(), v.Measured, v.State)
		}
	}
	// Output: etcd keys-64 times Mutex ≥ 1 0.9 not met
}

// Each target is of a case and a side that there is.
func TestTargetsCanBeMeasured(t *testing.T) {
	cases := make(map[string]bool)
	for _, c := range work.Cases(0) {
		cases[c.Name] = true
	}
	for _, target := range targets.Stores() {
		if !cases[target.Case] {
			t.Errorf("%s: there is no case %q", target.Store, target.Case)
		}
	}
}

func TestJudge(t *testing.T) {
	entry := report.Entry{Side: contest.Ours, Median: 100,
		Handoff:  &report.Quantiles{P50: 10, P99: 60},
		Fairness: &report.Fairness{Checked: 10},
		Waiting:  &contest.Waiting{Waiters: 10, Goroutines: 2, HeapBytes: 10241},
	}
	run := &report.Run{Contests: []report.Contest{
		{Store: servers.ZooKeeper, Members: 1, Case: "contention-8", Entries: []report.Entry{entry}},
		{Store: servers.ZooKeeper, Members: 1, Case: "drain-1", Entries: []report.Entry{entry}},
		{Store: servers.ZooKeeper, Members: 1, Case: "contention-2", Entries: []report.Entry{{Side: contest.Ours, Error: "broken"}, {Side: "zk.Lock", Median: 100}}},
		{Store: servers.ZooKeeper, Members: 1, Case: "contention-32", Entries: []report.Entry{
			{Side: contest.Ours, Median: 200, Partial: true, Fairness: &report.Fairness{Checked: 10}}, {Side: "zk.Lock", Median: 100, Ratio: 2}}},
	}}
	want := map[string]targets.State{
		"contention-8 violations of order":     targets.Met,
		"contention-8 p99 of handoff over p50": targets.NotMet,
		"drain-1 goroutines per waiter":        targets.Met,
		"drain-1 KiB of heap per waiter":       targets.NotMet,
		"contention-2 violations of order":     targets.NotMet,
		"contention-2 times zk.Lock":           targets.NotMet,
		"contention-2 times Curator":           targets.Unmeasured,
		"contention-32 violations of order":    targets.NotMet,
		"contention-32 times zk.Lock":          targets.NotMet,
		"contention-8 times zk.Lock":           targets.Unmeasured,
	}
	for _, v := range targets.Judge(run) {
		what := v.Case + " " + v.What
		if state, ok := want[what]; ok && v.Store == servers.ZooKeeper && v.Members == 1 {
			if v.State != state {
				t.Errorf("%s is %s, want %s", what, v.State, state)
			}
			delete(want, what)
		}
	}
	for what := range want {
		t.Errorf("%s was not judged", what)
	}
}

const benchmarks = `goos: linux
BenchmarkUncontended/mutex-2   	  103898	      1500 ns/op	    1576 B/op	      13 allocs/op
BenchmarkUncontended/mutex-2   	  103898	      2500 ns/op	    1576 B/op	      13 allocs/op
BenchmarkUncontended/mutex-2   	  103898	      1600 ns/op	    1576 B/op	      13 allocs/op
BenchmarkHandoff/one-client/1-2       	  110986	      1000 ns/op
BenchmarkHandoff/one-client/10000-2   	  110986	      1200 ns/op
PASS
`

func TestMicro(t *testing.T) {
	m, err := targets.ReadMicro(strings.NewReader(benchmarks))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range m.Judge() {
		got = append(got, fmt.Sprint(v.Measured, " ", v.State))
	}
	if want := "1600 met, 13 not met, 0 not measured, 1.2 met"; strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
	}
	if _, err := targets.ReadMicro(strings.NewReader("BenchmarkX 1 many ns/op\n")); err == nil {
		t.Error("a number that is none was read")
	}
}

// The table has the targets of what was in the run, also where something failed, and
// no others.
func TestMarkdown(t *testing.T) {
	run := &report.Run{Contests: []report.Contest{
		{Store: servers.ZooKeeper, Members: 3, Case: "drain-1", Entries: []report.Entry{
			{Side: contest.Ours, Median: 20}, {Side: "zk.Lock", Median: 10, Ratio: 2}, {Side: "Curator", Median: 20.01, Ratio: 0.9995}, {Side: "kazoo", Error: "broken"},
		}},
		{Store: servers.Consul, Members: 3, Case: "failover", Entries: []report.Entry{{Side: contest.Ours, Worst: 2.5}}},
	}}
	all := targets.Judge(run)
	text := string(targets.Markdown(all))
	_, table, _ := strings.Cut(text, "---|\n")
	want := `| zk | 3 | drain-1 | violations of order | ≤ 0 | – | not measured |
| zk | 3 | drain-1 | times zk.Lock | ≥ 1 | 2.00 | met |
| zk | 3 | drain-1 | times Curator | ≥ 1 | 0.9995 | **not met** |
| zk | 3 | drain-1 | times kazoo | ≥ 1 | – | not measured |
| consul | 3 | failover | TTL, at the most | ≤ 2 | 2.50 | **not met** |
`
	if table != want || !strings.Contains(text, fmt.Sprintf("1 met, 2 not met, %d not measured", len(all)-3)) {
		t.Errorf("%d targets:\n%s", len(all), text)
	}
	if text := string(targets.Markdown(targets.Judge(&report.Run{}))); strings.Contains(text, "|") {
		t.Errorf("of an empty run there is a table:\n%s", text)
	}
}
