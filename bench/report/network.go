package report

import "fmt"

// Network is the way from all clients to the servers. The zero value is the
// loopback without TLS.
type Network struct {
	// RTT is the round trip that proxies add, in milliseconds; 0: there are none.
	RTT float64 `json:"rtt_ms,omitempty"`
	// Echo is how long a round trip through a proxy took before the run; nil
	// without proxies.
	Echo *Quantiles `json:"echo,omitempty"`
	TLS  bool       `json:"tls,omitempty"`
}

// String describes the network in a page's head.
func (n Network) String() string {
	text := "loopback"
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

// suffix names the network in the title of a plot, unless it is the zero value.
func (n Network) suffix() (text string) {
	if n.RTT > 0 {
		text = fmt.Sprintf(", round trip %v ms", n.RTT)
	}
	if n.TLS {
		text += ", TLS"
	}
	return text
}
