package testserver

import (
	"bytes"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// How long a member may take to connect to a leader and to catch up, which
// includes the start of the leader's Java machine.
const zookeeperInit = 5 * time.Second

// zookeeperPlan is what must be known of all members before the first one
// starts.
type zookeeperPlan struct {
	jars     string // directory
	opts     ZooKeeperOptions
	dir      string // of the cluster
	keyStore string // the server's certificate and key; empty without TLS
	ca       string // the authority's certificate; empty without TLS
	ports    []zookeeperPorts
}

// zookeeperPorts are the ports of a member: for clients, for what the leader
// sends its followers, and for elections.
type zookeeperPorts struct{ client, quorum, election *reservedPort }

// plan reserves the ports and makes the certificates, all of which belong to z.
func (z *ZooKeeper) plan(jars string, opts ZooKeeperOptions, reserve reserver) (*zookeeperPlan, error) {
	p := &zookeeperPlan{jars: jars, opts: opts, dir: z.dir.path}
	if opts.TLS {
		if err := z.secureClients(p); err != nil {
			return nil, err
		}
	}
	for range opts.Members {
		ports, err := z.reservePorts(3, reserve)
		if err != nil {
			return nil, err
		}
		p.ports = append(p.ports, zookeeperPorts{client: ports[0], quorum: ports[1], election: ports[2]})
	}
	return p, nil
}

// secureClients makes the certificates.
func (z *ZooKeeper) secureClients(p *zookeeperPlan) error {
	files, err := z.secure()
	if err != nil {
		return err
	}
	cert, err := os.ReadFile(files.serverCert)
	if err != nil {
		return err
	}
	key, err := os.ReadFile(files.serverKey)
	if err != nil {
		return err
	}
	p.ca, p.keyStore = files.CA, filepath.Join(filepath.Dir(files.serverKey), "server-store.pem")
	if err := os.WriteFile(p.keyStore, slices.Concat(key, cert), 0o600); err != nil {
		return err
	}
	z.TLS = &files.TLSFiles
	z.tlsConfig, err = z.TLS.Config()
	return err
}

// args prepares the data directory of member i, writes its zoo.cfg, and returns
// the arguments of the Java machine.
func (p *zookeeperPlan) args(i int) ([]string, error) {
	data := p.dataDir(i)
	if err := os.Mkdir(data, 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(data, "myid"), []byte(strconv.Itoa(i+1)), 0o600); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	config, err := p.config(i)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(config)) {
		// As Java's Properties reads it.
		fmt.Fprintf(&text, "%s=%s\n", name, strings.ReplaceAll(config[name], `\`, `\\`))
	}
	path := data + ".cfg"
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		return nil, err
	}
	return append(slices.Clone(p.opts.JavaFlags),
		// Otherwise a killed machine leaves files in the system's directory.
		"-XX:-UsePerfData", "-Djava.io.tmpdir="+p.dir,
		"-Djava.net.preferIPv4Stack=true",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-cp", filepath.Join(p.jars, "*"),
		"org.apache.zookeeper.server.quorum.QuorumPeerMain", path,
	), nil
}

// config returns the settings of member i.
func (p *zookeeperPlan) config(i int) (map[string]string, error) {
	const address = "127.0.0.1"
	client := strconv.Itoa(p.ports[i].client.number)
	config := map[string]string{
		"dataDir":                p.dataDir(i),
		"tickTime":               milliseconds(p.opts.TickTime),
		"initLimit":              strconv.Itoa(max(5, int(zookeeperInit/p.opts.TickTime))),
		"syncLimit":              "5",
		"minSessionTimeout":      milliseconds(p.opts.MinSessionTimeout),
		"maxSessionTimeout":      milliseconds(p.opts.MaxSessionTimeout),
		"admin.enableServer":     "false", // an HTTP server on a port of its own
		"4lw.commands.whitelist": "*",
		"preAllocSize":           "64", // kilobytes, instead of 64 megabytes per log file
		// Who looks for a leader in vain asks again in a second at the latest,
		// instead of a minute.
		"fastleader.maxNotificationInterval": "1000",
	}
	if p.keyStore == "" {
		config["clientPort"], config["clientPortAddress"] = client, address
	} else {
		maps.Copy(config, map[string]string{
			"secureClientPort":        client,
			"secureClientPortAddress": address,
			"serverCnxnFactory":       "org.apache.zookeeper.server.NettyServerCnxnFactory", // the other has no TLS
			"ssl.keyStore.location":   p.keyStore,
			"ssl.keyStore.type":       "PEM",
			"ssl.trustStore.location": p.ca,
			"ssl.trustStore.type":     "PEM",
			"ssl.clientAuth":          "need",
		})
	}
	if p.opts.SuperPassword != "" {
		sum := sha1.Sum([]byte("super:" + p.opts.SuperPassword))
		config["DigestAuthenticationProvider.superDigest"] = "super:" + base64.StdEncoding.EncodeToString(sum[:])
	}
	if len(p.ports) > 1 {
		for j := range p.ports {
			server, err := p.server(i, j)
			if err != nil {
				return nil, err
			}
			config["server."+strconv.Itoa(j+1)] = server
		}
	}
	maps.Copy(config, p.opts.ExtraConfig)
	return config, nil
}

// server returns where member i finds member j: host:port:port.
func (p *zookeeperPlan) server(i, j int) (string, error) {
	server := "127.0.0.1"
	for _, port := range []*reservedPort{p.ports[j].quorum, p.ports[j].election} {
		addr := port.addr()
		if i != j && p.opts.PeerAddr != nil { // its own it listens on
			var err error
			if addr, err = p.opts.PeerAddr(i, j, addr); err != nil {
				return "", fmt.Errorf("option PeerAddr: %w", err)
			}
		}
		host, number, err := net.SplitHostPort(addr)
		if err != nil || host != "127.0.0.1" {
			return "", fmt.Errorf("option PeerAddr: %q, expected 127.0.0.1:port", addr)
		}
		server += ":" + number
	}
	return server, nil
}

func (p *zookeeperPlan) dataDir(i int) string { return filepath.Join(p.dir, memberName(i)) }

// epochFile is where member i keeps the epoch of the leader it follows. A
// single server has none.
func (p *zookeeperPlan) epochFile(i int) string {
	return filepath.Join(p.dataDir(i), "version-2", "currentEpoch")
}
