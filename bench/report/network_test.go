package report_test

import (
	"strings"
	"testing"

	"github.com/coordkit/coordkit/bench/contest"
	"github.com/coordkit/coordkit/bench/report"
	"github.com/coordkit/coordkit/bench/work"
)

func TestParseNetwork(t *testing.T) {
	for name, want := range map[string]report.Network{
		"loopback": {}, "loopback+tls": {TLS: true}, "1ms": {RTT: 1}, "0.5ms": {RTT: 0.5}, "30ms+tls": {RTT: 30, TLS: true},
	} {
		got, err := report.ParseNetwork(name)
		if err != nil || got != want || got.Name() != name {
			t.Errorf("%s is read as %+v, called %s: %v", name, got, got.Name(), err)
		}
	}
	for _, name := range []string{"", "1", "0ms", "-1ms", "tls", "1ms+TLS", "+tls"} {
		if n, err := report.ParseNetwork(name); err == nil || !strings.Contains(err.Error(), "want loopback or a round trip") {
			t.Errorf("%q is read as %+v: %v", name, n, err)
		}
	}
}

// The head of a page has each network, and each store has all of them side by side.
func TestNetworksSideBySide(t *testing.T) {
	wan := report.Network{RTT: 1, Echo: &report.Quantiles{P50: 1140, P99: 1280}}
	run := &report.Run{}
	add := func(name string, n report.Network, entries ...report.Entry) {
		c := report.Contest{Store: "etcd", Members: 1, Network: n, Case: name, Unit: "locks/s", Entries: entries}
		c.Compare()
		run.Contests = append(run.Contests, c)
	}
	entry := func(side string, rates ...int) report.Entry {
		return report.Summarize(work.Uncontended(), side, turns(rates...))
	}
	add("uncontended", wan, entry(contest.Ours, 95, 100, 105), entry("floor", 101, 102, 107), entry("Mutex", 106, 107, 108))
	add("drain-1", wan, entry(contest.Ours, 40), entry("floor", 20))
	add("uncontended", report.Network{RTT: 1, TLS: true}, entry(contest.Ours, 90), report.Entry{Side: "floor", Error: "no answer"})
	add("uncontended", report.Network{}, entry(contest.Ours, 200), entry("floor", 100), report.Entry{Side: "Mutex", Median: 50, Low: 50, High: 50, Partial: true})
	text := string(run.Markdown())
	for _, want := range []string{`
- 1ms: proxies add a round trip of 1 ms between all clients and the servers (an echo took 1.14 ms at p50, 1.28 ms at p99); no TLS.
- 1ms+tls: proxies add a round trip of 1 ms between all clients and the servers; all clients use TLS, so requests are not counted.
- loopback: no proxies; no TLS.
`, `
| | floor<br>1ms | floor<br>1ms+tls | floor<br>loopback | Mutex<br>1ms | Mutex<br>1ms+tls | Mutex<br>loopback |
|---|--:|--:|--:|--:|--:|--:|
| uncontended | ≈ 0.98 | failed | 2.00 | **0.93** | – | 4.00 † |
| drain-1 | 2.00 | – | – | – | – | – |
`, `
| | | 1ms | 1ms+tls | loopback |
|---|---|--:|--:|--:|
| uncontended, locks/s | coordkit | 100 (95.0–105) | 90.0 (90.0–90.0) | 200 (200–200) |
| | floor | 102 (101–107) | failed | 100 (100–100) |
| | Mutex | 107 (106–108) | – | 50.0 (50.0–50.0) † |
| drain-1, locks/s | coordkit | 40.0 (40.0–40.0) | – | – |
| | floor | 20.0 (20.0–20.0) | – | – |
`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s\nis missing in\n%s", want, text)
		}
	}
	if low, high := run.Contests[0].Span(run.Contests[0].Entries[1]); low != 95./107 || high != 105./101 {
		t.Errorf("the ratios are from %v to %v", low, high)
	}
}
