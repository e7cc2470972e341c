package servers

import "testing"

// A number that is not there is told, and not taken for zero.
func TestAfter(t *testing.T) {
	answer := "Latency min/avg/max: 0/1.5/9\nZxid: 0x1000000ff\nzk_cnt_fsynctime\t17\nzk_max_fsynctime\t2\n"
	for _, c := range []struct {
		word string
		base int
		want int64
		ok   bool
	}{
		{"Zxid: 0x", 16, 0x1000000ff, true},
		{"zk_cnt_fsynctime\t", 10, 17, true},
		{"zk_max_fsynctime\t", 10, 2, true},
		{"zk_min_fsynctime\t", 10, 0, false},
		{"Latency ", 10, 0, false},
	} {
		got, err := after(c.word, answer, c.base)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("%q: %d, %v; want %d", c.word, got, err, c.want)
		}
	}
}
