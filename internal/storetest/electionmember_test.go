package storetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// memberOf returns the index of the member that a process has most connections
// to, by /proc, see proc(5).
func (s *store) memberOf(pid int) (int, error) {
	proc := filepath.Join("/proc", strconv.Itoa(pid))
	files, err := filepath.Glob(filepath.Join(proc, "fd", "*"))
	if err != nil {
		return 0, err
	}
	own := make(map[string]bool)
	for _, f := range files {
		if target, err := os.Readlink(f); err == nil { // it may be closed by now
			own[target] = true
		}
	}
	table, err := os.ReadFile(filepath.Join(proc, "net", "tcp"))
	if err != nil {
		return 0, err
	}
	to := make(map[string]int) // connections, by port
	for line := range strings.Lines(string(table)) {
		// number, local address, remote address, state, and the inode as the tenth
		f := strings.Fields(line)
		if len(f) < 10 {
			return 0, fmt.Errorf("%s/net/tcp: %s", proc, line)
		}
		_, port, found := strings.Cut(f[2], ":")
		if found && own["socket:["+f[9]+"]"] {
			to[port]++
		}
	}
	best, most := 0, 0
	for i, m := range s.members {
		_, port, _ := strings.Cut(hosts(m.Endpoint())[0], ":")
		n, err := strconv.Atoi(port)
		if err != nil {
			return 0, err
		}
		if count := to[fmt.Sprintf("%04X", n)]; count > most {
			best, most = i, count
		}
	}
	if most == 0 {
		return 0, fmt.Errorf("process %d is connected to no member", pid)
	}
	return best, nil
}
