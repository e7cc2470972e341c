package report

import (
	"fmt"
	"strings"
	"time"
)

// Network is the way from all clients to the servers. The zero value is the
// loopback without TLS.
type Network struct {
	// RTT is the round trip that proxies add, in milliseconds; 0: there are none.
	RTT float64 `json:"rtt_ms"`
	// Echo is how long a round trip through a proxy took before the run; nil
	// without proxies.
	Echo *Quantiles `json:"echo,omitempty"`
	TLS  bool       `json:"tls,omitempty"`
}

const (
	loopback = "loopback"
	withTLS  = "+tls"
)

// ParseNetwork returns the network of the given name: "loopback", or a round trip such
// as "1ms". Either may end in "+tls", for TLS.
func ParseNetwork(name string) (Network, error) {
	way, tls := strings.CutSuffix(name, withTLS)
	if way == loopback {
		return Network{TLS: tls}, nil
	}
	rtt, err := time.ParseDuration(way)
	if err != nil || rtt <= 0 {
		return Network{}, fmt.Errorf(`network %q: want loopback or a round trip such as 1ms, and "+tls" behind it for TLS`, name)
	}
	return Network{RTT: float64(rtt) / float64(time.Millisecond), TLS: tls}, nil
}

// Name is the network's name in tables. ParseNetwork reads it.
func (n Network) Name() string {
	name := loopback
	if n.RTT > 0 {
		name = fmt.Sprintf("%vms", n.RTT)
	}
	if n.TLS {
		name += withTLS
	}
	return name
}

// Delay returns the round trip that proxies add.
func (n Network) Delay() time.Duration { return time.Duration(n.RTT * float64(time.Millisecond)) }

// String describes the network in a page's head.
func (n Network) String() string {
	text := "no proxies"
	if n.RTT > 0 {
		text = fmt.Sprintf("proxies add a round trip of %v ms between all clients and the servers", n.RTT)
	}
	if n.Echo != nil {
		text += fmt.Sprintf(" (an echo took %s at p50, %s at p99)", micro(n.Echo.P50), micro(n.Echo.P99))
	}
	if n.TLS {
		return text + "; all clients use TLS, so requests are not counted"
	}
	return text + "; no TLS"
}

// Networks returns the networks of the run, in the order of its contests. The first
// one is the main one.
func (r *Run) Networks() []Network {
	var all []Network
	seen := make(map[string]bool)
	for _, c := range r.Contests {
		if name := c.Network.Name(); !seen[name] {
			seen[name] = true
			all = append(all, c.Network)
		}
	}
	return all
}
