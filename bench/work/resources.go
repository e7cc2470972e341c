package work

import (
	"bufio"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"

	"github.com/coordkit/coordkit/bench/contest"
)

// usage is what this process uses at a time.
type usage struct{ goroutines, connections, heap, stacks int }

// resources returns it, after collections.
func resources(servers []string) usage {
	runtime.GC()
	runtime.GC() // what pools keep goes with the second one
	in := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(in)
	return usage{
		goroutines:  runtime.NumGoroutine(),
		connections: connections(servers),
		heap:        int(in[0].Value.Uint64()),
		stacks:      int(in[1].Value.Uint64()),
	}
}

// since returns what each of n waiters costs, whom there were none of before.
func (u usage) since(before usage, n int) contest.Waiting {
	each := func(now, then int) float64 { return float64(now-then) / float64(n) }
	return contest.Waiting{
		Waiters:     n,
		Goroutines:  each(u.goroutines, before.goroutines),
		Connections: each(u.connections, before.connections),
		HeapBytes:   each(u.heap, before.heap),
		StackBytes:  each(u.stacks, before.stacks),
	}
}

// connections counts those that servers on this machine have accepted and not
// closed; 0 if the kernel does not tell.
func connections(servers []string) int {
	table, err := os.Open("/proc/net/tcp")
	if err != nil {
		return 0
	}
	defer table.Close()
	ports := make(map[string]bool)
	for _, s := range servers {
		if addr, err := netip.ParseAddrPort(s); err == nil {
			ports[fmt.Sprintf("%04X", addr.Port())] = true
		}
	}
	const established, closeWait = "01", "08"
	n := 0
	lines := bufio.NewScanner(table)
	for lines.Scan() { // number, local address, remote address, state
		f := strings.Fields(lines.Text())
		if len(f) < 4 || f[3] != established && f[3] != closeWait {
			continue
		}
		if _, port, ok := strings.Cut(f[1], ":"); ok && ports[port] {
			n++
		}
	}
	return n
}
