package testserver

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// consulPlan is what must be known of all members before the first one starts.
type consulPlan struct {
	opts  ConsulOptions
	dir   string     // of the cluster
	tls   *serverTLS // nil without TLS
	token string     // empty without ACLs
	ports []consulPorts
	host  string // at which the others find a member
}

// consulPorts are the ports of a member.
type consulPorts struct{ http, serf, rpc *reservedPort }

// plan reserves the ports and makes the secrets, all of which belong to c.
//
// Serf listens on UDP as well as on TCP. A UDP port cannot be reserved, as Go
// programs bind it without SO_REUSEADDR; only a short-lived socket of another
// program could get into the way, and then the start says so.
func (c *Consul) plan(opts ConsulOptions, reserve reserver) (*consulPlan, error) {
	p := &consulPlan{opts: opts, dir: c.dir.path, host: "127.0.0.1"}
	if opts.ACL {
		c.Token = newUUID()
		p.token = c.Token
	}
	if opts.TLS {
		var err error
		if p.tls, err = c.secure(); err != nil {
			return nil, err
		}
		c.TLS = &p.tls.TLSFiles
		if c.tlsConfig, err = c.TLS.Config(); err != nil {
			return nil, err
		}
	}
	for range opts.Members {
		ports, err := c.reservePorts(3, reserve)
		if err != nil {
			return nil, err
		}
		p.ports = append(p.ports, consulPorts{http: ports[0], serf: ports[1], rpc: ports[2]})
	}
	return p, p.findHost()
}

// findHost asks the option PeerHost.
func (p *consulPlan) findHost() (err error) {
	if p.opts.PeerHost == nil {
		return nil
	}
	var all []ConsulPorts
	for _, member := range p.ports {
		all = append(all, ConsulPorts{RPC: member.rpc.number, Gossip: member.serf.number})
	}
	if p.host, err = p.opts.PeerHost(all); err != nil {
		return fmt.Errorf("option PeerHost: %w", err)
	}
	return nil
}

// peer returns where the others find a port of a member.
func (p *consulPlan) peer(port *reservedPort) string {
	return net.JoinHostPort(p.host, strconv.Itoa(port.number))
}

// endpoint returns the URL at which member i serves clients.
func (p *consulPlan) endpoint(i int) string {
	if p.tls != nil {
		return "https://" + p.ports[i].http.addr()
	}
	return "http://" + p.ports[i].http.addr()
}

// args writes the configuration of member i to files and returns the arguments
// that name them.
func (p *consulPlan) args(i int) ([]string, error) {
	for name, config := range map[string]map[string]any{"": p.config(i), "-extra": p.opts.ExtraConfig} {
		text, err := json.MarshalIndent(config, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("option ExtraConfig: %w", err)
		}
		path := filepath.Join(p.dir, memberName(i)+name+".json")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, err
		}
	}
	// The last one has the last word.
	path := filepath.Join(p.dir, memberName(i))
	args := []string{"agent", "-config-file=" + path + ".json", "-config-file=" + path + "-extra.json"}
	if p.opts.Dev {
		args = append(args, "-dev")
	}
	return args, nil
}

// config returns the configuration of member i.
func (p *consulPlan) config(i int) map[string]any {
	var others []string
	for j, member := range p.ports {
		if j != i {
			others = append(others, p.peer(member.serf))
		}
	}
	const off = -1
	ports := map[string]int{
		"http": p.ports[i].http.number, "serf_lan": p.ports[i].serf.number, "server": p.ports[i].rpc.number,
		"https": off, "serf_wan": off, "dns": off, "grpc": off, "grpc_tls": off,
	}
	config := map[string]any{
		"node_name":      memberName(i),
		"server":         true,
		"bind_addr":      "127.0.0.1",
		"advertise_addr": p.host,
		"client_addr":    "127.0.0.1",
		"ports":          ports,
		"retry_join":     others,
		"retry_interval": "250ms",
		// The quickest elections there are: within two seconds.
		"performance": map[string]any{"raft_multiplier": 1},
		// Otherwise a server that was down for a moment comes back without a vote.
		"autopilot": map[string]any{"cleanup_dead_servers": false},
		// Megabytes, of which by default 64 are written at the start.
		"raft_logstore": map[string]any{"wal": map[string]any{"segment_size_mb": 4}},
		// What is not tested costs time at the start, or asks the Internet.
		"connect":              map[string]any{"enabled": false},
		"peering":              map[string]any{"enabled": false},
		"disable_update_check": true,
		"log_level":            "warn",
	}
	if !p.opts.Dev {
		config["data_dir"] = filepath.Join(p.dir, memberName(i))
		config["bootstrap_expect"] = p.opts.Members
	}
	if p.opts.SessionTTLMin > 0 {
		config["session_ttl_min"] = p.opts.SessionTTLMin.String()
	}
	if p.token != "" {
		config["acl"] = map[string]any{
			"enabled":        true,
			"default_policy": "deny",
			"tokens":         map[string]any{"initial_management": p.token, "agent": p.token},
		}
	}
	if p.tls != nil {
		ports["https"], ports["http"] = ports["http"], off
		config["tls"] = map[string]any{"https": map[string]any{
			"ca_file":         p.tls.CA,
			"cert_file":       p.tls.serverCert,
			"key_file":        p.tls.serverKey,
			"verify_incoming": true,
		}}
	}
	return config
}

// newUUID returns a random UUID, the form Consul demands of tokens.
func newUUID() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
