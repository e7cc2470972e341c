package testserver

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// etcdPlan is what must be known of all members before the first one starts.
type etcdPlan struct {
	binary  string
	opts    EtcdOptions
	dir     *runDir
	tls     *serverTLS // nil without TLS
	clients []string   // URL to serve clients on, per member
	peers   []string   // URL to serve the other members on, per member
}

// plan reserves the ports and makes the certificates, all of which belong to e.
func (e *Etcd) plan(binary string, opts EtcdOptions, reserve func() (*reservedPort, error)) (*etcdPlan, error) {
	p := &etcdPlan{binary: binary, opts: opts, dir: e.dir}
	scheme := "http"
	if opts.TLS {
		scheme = "https"
		if err := e.secure(p); err != nil {
			return nil, fmt.Errorf("make certificates: %w", err)
		}
	}
	for range opts.Members {
		for _, urls := range []*[]string{&p.clients, &p.peers} {
			port, err := reserve()
			if err != nil {
				return nil, err
			}
			e.ports = append(e.ports, port)
			*urls = append(*urls, port.addr())
		}
	}
	for i := range p.clients {
		p.clients[i] = scheme + "://" + p.clients[i]
		p.peers[i] = "http://" + p.peers[i]
	}
	return p, nil
}

// secure makes the certificates.
func (e *Etcd) secure(p *etcdPlan) error {
	dir, err := e.dir.sub("tls")
	if err != nil {
		return err
	}
	if p.tls, err = newServerTLS(dir); err != nil {
		return err
	}
	e.TLS = &p.tls.TLSFiles
	e.tlsConfig, err = e.TLS.Config()
	return err
}

// commands returns how to run the members.
func (p *etcdPlan) commands() []command {
	// Flags only: what is set for another etcd must not leak into this one.
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "ETCD_") })
	var commands []command
	for i := range p.clients {
		commands = append(commands, command{
			name: fmt.Sprintf("etcd member %d", i),
			path: p.binary,
			args: p.args(i),
			env:  env,
			dir:  p.dir,
			log:  filepath.Join(p.dir.path, memberName(i)+".log"),
		})
	}
	return commands
}

// args returns the flags of member i.
func (p *etcdPlan) args(i int) []string {
	var cluster []string
	for j, url := range p.peers {
		cluster = append(cluster, memberName(j)+"="+url)
	}
	args := []string{
		"--name=" + memberName(i),
		"--data-dir=" + filepath.Join(p.dir.path, memberName(i)),
		"--listen-client-urls=" + p.clients[i],
		"--advertise-client-urls=" + p.clients[i],
		"--listen-peer-urls=" + p.peers[i],
		"--initial-advertise-peer-urls=" + p.peers[i],
		"--initial-cluster=" + strings.Join(cluster, ","),
		// Members of another cluster that once had these ports are turned away.
		"--initial-cluster-token=" + filepath.Base(p.dir.path),
		"--heartbeat-interval=" + milliseconds(p.opts.Heartbeat),
		"--election-timeout=" + milliseconds(p.opts.ElectionTimeout),
		"--log-outputs=stderr",
		"--log-level=warn",
	}
	if p.tls != nil {
		args = append(args,
			"--cert-file="+p.tls.serverCert,
			"--key-file="+p.tls.serverKey,
			"--trusted-ca-file="+p.tls.CA,
			"--client-cert-auth",
		)
	}
	if p.opts.AuthTokenTTL > 0 {
		args = append(args, "--auth-token-ttl="+strconv.FormatInt(int64(p.opts.AuthTokenTTL/time.Second), 10))
	}
	return append(args, p.opts.ExtraArgs...)
}

func memberName(i int) string { return "m" + strconv.Itoa(i) }

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
