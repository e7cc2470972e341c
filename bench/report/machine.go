package report

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Machine is where a run took place.
type Machine struct {
	System     string  `json:"system"`
	Processor  string  `json:"processor"`
	Processors int     `json:"processors"`
	Go         string  `json:"go"`
	Sync       float64 `json:"fdatasync_us"` // median, of a small write in the directory of the servers' data
	Load       string  `json:"load"`         // as the system tells it, at the beginning
}

// ThisMachine describes the one that this program runs on.
func ThisMachine() Machine {
	m := Machine{System: runtime.GOOS + "/" + runtime.GOARCH, Processors: runtime.NumCPU(), Go: runtime.Version()}
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		m.Load = strings.Join(strings.Fields(string(load))[:3], " ")
	}
	if f, err := os.Open("/proc/cpuinfo"); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
				m.Processor = strings.TrimSpace(value)
				break
			}
		}
	}
	m.Sync = syncTime()
	return m
}

// modules are whose versions matter.
var modules = map[string]string{
	"go.etcd.io/etcd/client/v3":       "etcd client",
	"github.com/go-zookeeper/zk":      "go-zookeeper",
	"github.com/hashicorp/consul/api": "consul/api",
}

// Versions returns those of coordkit, of the stores' clients, and of Java.
func Versions(ctx context.Context) map[string]string {
	v := make(map[string]string)
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if name := modules[m.Path]; name != "" {
				v[name] = m.Version
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	if out, err := exec.CommandContext(ctx, "git", "describe", "--always").Output(); err == nil {
		v["coordkit"] = strings.TrimSpace(string(out))
		// What the runs before this one have written is no change of what is measured.
		changed := exec.CommandContext(ctx, "git", "diff", "--quiet", "HEAD", "--", ":/", ":(top,exclude)bench/results")
		if changed.Run() != nil {
			v["coordkit"] += "-dirty"
		}
	}
	if out, err := exec.CommandContext(ctx, "java", "-version").CombinedOutput(); err == nil {
		v["Java"], _, _ = strings.Cut(string(out), "\n")
	}
	return v
}
