package testserver

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// etcdPlan is what must be known of all members before the first one starts.
type etcdPlan struct {
	opts    EtcdOptions
	dir     string     // of the cluster
	tls     *serverTLS // nil without TLS
	clients []string   // URL to serve clients on, per member
	peers   []string   // URL to serve the other members on, per member
	known   []string   // URL that the others know it by, per member
}

// plan reserves the ports and makes the certificates, all of which belong to e.
func (e *Etcd) plan(opts EtcdOptions, reserve reserver) (*etcdPlan, error) {
	p := &etcdPlan{opts: opts, dir: e.dir.path}
	scheme := "http"
	if opts.TLS {
		scheme = "https"
		if err := e.secureClients(p); err != nil {
			return nil, err
		}
	}
	for range opts.Members {
		ports, err := e.reservePorts(2, reserve)
		if err != nil {
			return nil, err
		}
		p.clients = append(p.clients, scheme+"://"+ports[0].addr())
		p.peers = append(p.peers, "http://"+ports[1].addr())
		known := ports[1].addr()
		if opts.PeerAddr != nil {
			if known, err = opts.PeerAddr(len(p.known), known); err != nil {
				return nil, fmt.Errorf("option PeerAddr: %w", err)
			}
		}
		p.known = append(p.known, "http://"+known)
	}
	return p, nil
}

// secureClients makes the certificates.
func (e *Etcd) secureClients(p *etcdPlan) (err error) {
	if p.tls, err = e.secure(); err != nil {
		return err
	}
	e.TLS = &p.tls.TLSFiles
	e.tlsConfig, err = e.TLS.Config()
	return err
}

// args returns the flags of member i. There is no configuration file.
func (p *etcdPlan) args(i int) []string {
	var cluster []string
	for j, url := range p.known {
		cluster = append(cluster, memberName(j)+"="+url)
	}
	args := []string{
		"--name=" + memberName(i),
		"--data-dir=" + filepath.Join(p.dir, memberName(i)),
		"--listen-client-urls=" + p.clients[i],
		"--advertise-client-urls=" + p.clients[i],
		"--listen-peer-urls=" + p.peers[i],
		"--initial-advertise-peer-urls=" + p.known[i],
		"--initial-cluster=" + strings.Join(cluster, ","),
		// Members of another cluster that once had these ports are turned away.
		"--initial-cluster-token=" + filepath.Base(p.dir),
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
