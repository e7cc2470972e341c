package trial

import (
	"testing"
	"time"
)

func TestTable(t *testing.T) {
	const ms = time.Millisecond
	results := []Result{
		{Store: "etcd", Fault: "link cut", Trials: 3, Lost: 2, Margins: []time.Duration{300 * ms, 200 * ms}, Late: 5 * ms},
		{Store: "Consul", Fault: "server killed", Trials: 1, Overlaps: 1, Excused: 2, Left: 3, Unresolved: 4, Overdue: 5, Other: 6, Late: 7 * ms},
	}
	got := Table(results)
	want := `store   fault          trials  lost  overlaps  excused  margin min  median  left  unresolved  overdue  other  timers late
etcd    link cut       3       2     0         0        200 ms      300 ms  0     0           0        0      5 ms
Consul  server killed  1       0     1         2        -           -       3     4           5        6      7 ms
all                    4       2     1         2        200 ms      300 ms  3     4           5        6      7 ms
`
	if got != want {
		t.Errorf("the table is\n%swant\n%s", got, want)
	}
	got = Table(Merge(append(results, results[0]), func(r Result) (string, string) { return r.Store, "" }))
	want = `store   fault  trials  lost  overlaps  excused  margin min  median  left  unresolved  overdue  other  timers late
etcd           6       4     0         0        200 ms      300 ms  0     0           0        0      5 ms
Consul         1       0     1         2        -           -       3     4           5        6      7 ms
all            7       4     1         2        200 ms      300 ms  3     4           5        6      7 ms
`
	if got != want {
		t.Errorf("merged, the table is\n%swant\n%s", got, want)
	}
}
