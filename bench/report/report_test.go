package report_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/report"
	"github.com/coordkit/coordkit/bench/work"
)

func Example() {
	c := report.Contest{Entries: []report.Entry{
		report.Summarize(work.Uncontended(), contest.Ours, turns(1000, 1500, 1100)),
		report.Summarize(work.Uncontended(), "peer", turns(500, 550, 2000)),
	}}
	c.Compare()
	fmt.Println(c.Entries[1].Low, c.Entries[1].Median, c.Entries[1].High, c.Entries[1].Ratio)
	// Output: 500 550 2000 2
}

func turns(rates ...int) []contest.Sample {
	var all []contest.Sample
	for _, r := range rates {
		all = append(all, contest.Sample{Ops: r, Seconds: 1, CPU: time.Duration(r) * time.Microsecond})
	}
	return all
}

func TestLessIsBetter(t *testing.T) {
	c := report.Contest{Less: true, Entries: []report.Entry{{Side: contest.Ours, Median: 2}, {Side: "slow", Median: 3}, {Side: "failed", Error: "broken"}}}
	c.Compare()
	if got := c.Entries[1].Ratio; got != 1.5 {
		t.Errorf("the ratio to who takes longer is %v, want 1.5", got)
	}
	if got := c.Entries[2].Ratio; got != 0 {
		t.Errorf("the ratio to who failed is %v, want none", got)
	}
}

func TestFairness(t *testing.T) {
	for _, c := range []struct {
		name    string
		clients []int
		spread  float64
		starved int
	}{
		{"even", []int{10, 11, 10}, 1.1, 0},
		{"too few to tell", []int{1, 0, 1}, 0, 0},
		{"starved", []int{40, 0, 0}, 0, 2},
	} {
		e := report.Summarize(work.Contention(3), "side", []contest.Sample{{Ops: 1, Seconds: 1, Checked: 5, PerClient: c.clients}})
		if e.Fairness.Spread != c.spread || e.Fairness.Starved != c.starved {
			t.Errorf("%s: %+v, want %v and %d", c.name, *e.Fairness, c.spread, c.starved)
		}
	}
}

// sample is a run with all that a table may have to show.
func sample() *report.Run {
	c := report.Contest{Store: "etcd", Members: 1, Case: "uncontended", About: "one session locks", Unit: "locks/s", Absent: []string{"RWMutex"},
		Entries: []report.Entry{
			report.Summarize(work.Uncontended(), contest.Ours, []contest.Sample{{Ops: 100, Seconds: 1, Latencies: []time.Duration{time.Millisecond}, Syncs: 1.5}}),
			{Side: "Mutex", Median: 200, Figures: []float64{200}, Partial: true, Notes: []string{"it took too long"}, Cost: &contest.Cost{Requests: 2, Commits: 2}},
			{Side: "broken", Error: "no answer"},
		}}
	c.Compare()
	three := c
	three.Members = 3
	return &report.Run{Command: "go run .", Short: true, Versions: map[string]string{"b": "2", "a": "1"}, Contests: []report.Contest{c, three}}
}

func TestMarkdown(t *testing.T) {
	text := string(sample().Markdown())
	for _, want := range []string{
		"## etcd, one server\n", "## etcd, 3 members\n",
		"## etcd, one server, loopback\n", "## etcd, 3 members, loopback\n",
		"| coordkit | 100 | 100–100 | 1.00 | – | 1.00 ms | – |",
		"| – | – | 1.50 |", "| 2.00 | 2.00 | – |",
		"- Mutex: it took too long.", "- broken failed: no answer.", "- no such recipe: RWMutex.",
		"a 1, b 2", "A short run",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// What coordkit failed at is told first, and is an error of the run.
func TestFailures(t *testing.T) {
	r := sample()
	if err := r.Failures(); err != nil {
		t.Errorf("nothing failed, and %v", err)
	}
	r.Contests[0].Entries = []report.Entry{{Side: contest.Ours, Error: "two held it"}, {Side: "Mutex", Median: 1}}
	r.Contests[1].Entries = []report.Entry{{Side: contest.Ours, Median: 1, Partial: true}, {Side: "Mutex", Error: "no answer"}}
	want := "etcd, one server, loopback: uncontended: coordkit failed: two held it\netcd, 3 members, loopback: uncontended: coordkit failed: it did not end in time"
	if err := r.Failures(); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if text := string(r.Markdown()); !strings.Contains(text, "Where coordkit failed:\n\n- etcd, one server, loopback: uncontended: coordkit failed: two held it\n- etcd, 3") {
		t.Error(text)
	}
}

func TestWritable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results", "new")
	if err := report.Writable(dir); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it has left %v, %v", left, err)
	}
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := report.Writable(file); err == nil {
		t.Error("a file was taken for a directory")
	}
}

func TestWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	r := sample()
	r.Contests[0].Network = report.Network{RTT: 1, TLS: true}
	if err := r.Write(dir, []byte("## Targets\n")); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"README.md": "](etcd-3-loopback.svg)", "etcd-1ms+tls.svg": "etcd, one server, 1ms+tls", "etcd-3-loopback.svg": "uncontended", "results.json": `"coordkit_ratio"`} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %d bytes without %q, %v", name, len(text), want, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var back report.Run
	if err := json.Unmarshal(text, &back); err != nil || len(back.Contests) != 2 || back.Contests[0].Entries[1].Ratio != 0.5 {
		t.Errorf("read back: %+v, %v", back, err)
	}
}
