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
	run := &report.Run{Contests: []report.Contest{{Store: servers.Etcd, Members: 1, Network: report.Network{RTT: 1}, Case: "keys-64",
		Entries: []report.Entry{{Side: contest.Ours, Median: 900}, {Side: contest.Floor, Median: 1000, Ratio: 0.9}}}}}
	for _, v := range targets.Judge(run) {
		if v.State != targets.Unmeasured {
			fmt.Println(v.Store, v.Network, v.Case, v.What, v.Bounds(), v.Measured, v.State)
		}
	}
	// Output: etcd 1ms keys-64 times floor ≥ 1.1 0.9 not met
}

// Each target is of a case and a side that there is.
func TestTargetsCanBeMeasured(t *testing.T) {
	cases := make(map[string]bool)
	for _, c := range work.Cases(0) {
		cases[c.Name] = true
	}
	for _, n := range []report.Network{{}, {RTT: 1}} {
		for _, target := range targets.Of(n) {
			if !cases[target.Case] {
				t.Errorf("%s: there is no case %q", target.Store, target.Case)
			}
		}
	}
}

// Speed has targets over the networks that they were made for, and no others.
func TestTargetsOfNetworks(t *testing.T) {
	least := len(targets.Of(report.Network{RTT: 30}))
	for n, want := range map[report.Network]bool{
		{}: true, {RTT: 1}: true, {TLS: true}: false, {RTT: 1, TLS: true}: false,
	} {
		if got := len(targets.Of(n)); (got > least) != want {
			t.Errorf("%v: %d targets; those of order are %d", n, got, least)
		}
	}
}

func TestJudge(t *testing.T) {
	ours := report.Entry{Side: contest.Ours, Median: 200, Low: 190, High: 210,
		Fairness: &report.Fairness{Checked: 10}, Cost: &contest.Cost{Requests: 2.04}}
	// at is a contest in which coordkit is so many times as fast as the floor.
	at := func(name string, times float64) report.Contest {
		c := report.Contest{Store: servers.Etcd, Members: 1, Network: report.Network{RTT: 1}, Case: name,
			Entries: []report.Entry{ours, {Side: contest.Floor, Median: 200 / times, Low: 195 / times, High: 205 / times}}}
		c.Compare()
		return c
	}
	broken, late := at("contention-8", 2), at("contention-32", 2)
	broken.Entries[0] = report.Entry{Side: contest.Ours, Error: "broken"}
	late.Entries[0].Partial = true
	run := &report.Run{Contests: []report.Contest{
		at("uncontended", 1.2), at("contention-2", 1.75), at("keys-64", 1.05), at("drain-20", 1.5), broken, late,
	}}
	want := map[string]targets.State{
		"uncontended times floor":              targets.Met,
		"contention-2 times floor":             targets.Tie, // a slow turn of coordkit and a fast one of the floor are 1.62
		"keys-64 times floor":                  targets.Tie,
		"drain-20 times floor":                 targets.NotMet,
		"drain-1 times floor":                  targets.Unmeasured,
		"contention-8 times floor":             targets.NotMet,
		"contention-32 times floor":            targets.NotMet,
		"contention-32 violations of order":    targets.NotMet,
		"drain-20 violations of order":         targets.Met,
		"uncontended requests for each lock":   targets.Met,
		"contention-8 requests for each lock":  targets.NotMet,
		"contention-32 requests for each lock": targets.NotMet,
	}
	for _, v := range targets.Judge(run) {
		what := v.Case + " " + v.What
		if state, ok := want[what]; ok && v.Store == servers.Etcd && v.Members == 1 {
			if v.State != state {
				t.Errorf("%s is %s, want %s (%v, from %v to %v)", what, v.State, state, v.Measured, v.Low, v.High)
			}
			delete(want, what)
		}
	}
	for what := range want {
		t.Errorf("%s was not judged", what)
	}
}

// Each network has its own verdicts, by the targets that are made for it.
func TestJudgeNetworks(t *testing.T) {
	run := &report.Run{}
	for _, n := range []report.Network{{RTT: 1}, {RTT: 1, TLS: true}, {}} {
		c := report.Contest{Store: servers.Consul, Members: 1, Network: n, Case: "uncontended",
			Entries: []report.Entry{{Side: contest.Ours, Median: 95}, {Side: contest.Floor, Median: 100}}}
		c.Compare()
		run.Contests = append(run.Contests, c)
	}
	var got []string
	for _, v := range targets.Judge(run) {
		if v.Ran && strings.HasPrefix(v.What, "times") {
			got = append(got, fmt.Sprint(v.Network, " ", v.Bounds(), " ", v.State))
		}
	}
	if want := "1ms ≥ 0.97 not met, loopback ≥ 0.93 met"; strings.Join(got, ", ") != want {
		t.Errorf("%s, want %s", strings.Join(got, ", "), want)
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
		{Store: servers.ZooKeeper, Members: 1, Case: "drain-1", Entries: []report.Entry{
			{Side: contest.Ours, Median: 20}, {Side: "zk.Lock", Median: 20.01, Ratio: 1.0995},
		}},
		{Store: servers.ZooKeeper, Members: 1, Case: "contention-2", Entries: []report.Entry{
			{Side: contest.Ours, Median: 20, Low: 18, High: 22}, {Side: "zk.Lock", Median: 20, Low: 18, High: 22, Ratio: 1},
		}},
		{Store: servers.Consul, Members: 3, Case: "contention-8", Entries: []report.Entry{{Side: contest.Ours, Fairness: &report.Fairness{Starved: 2}}}},
	}}
	all := targets.Judge(run)
	text := string(targets.Markdown(all))
	_, table, _ := strings.Cut(text, "---|\n")
	want := `| zk | 1 | loopback | contention-2 | violations of order | ≤ 0 | – | not measured |
| zk | 1 | loopback | drain-1 | violations of order | ≤ 0 | – | not measured |
| consul | 3 | loopback | contention-8 | violations of order | ≤ 0 | – | not measured |
| consul | 3 | loopback | contention-8 | sessions starved | ≤ 0 | 2.00 | **not met** |
| zk | 1 | loopback | contention-2 | times zk.Lock | ≥ 1 | 1.00 (0.82–1.22) | tie |
| zk | 1 | loopback | drain-1 | times zk.Lock | ≥ 1.1 | 1.0995 | **not met** |
`
	if table != want || !strings.Contains(text, fmt.Sprintf("0 met, 1 tied, 2 not met, %d not measured", len(all)-3)) {
		t.Errorf("%d targets:\n%s", len(all), text)
	}
	if text := string(targets.Markdown(targets.Judge(&report.Run{}))); strings.Contains(text, "|") {
		t.Errorf("of an empty run there is a table:\n%s", text)
	}
}
