package testserver

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"os/exec"
)

// ZooKeeper is a running ZooKeeper ensemble of one or three servers on loopback.
// Its methods may be called from any goroutine.
type ZooKeeper struct {
	*cluster
	// Members are the servers. The slice does not change.
	Members []*ZooKeeperMember
	// TLS holds the files a client needs; nil without TLS.
	TLS *TLSFiles

	tlsConfig *tls.Config
}

// ZooKeeperMember is one server of an ensemble.
type ZooKeeperMember struct {
	*member
	ensemble *ZooKeeper
}

// NewZooKeeper starts an ensemble and returns when every member serves. The
// server is installed first if need be. ctx bounds that, not the ensemble's
// life, which ends with Close or with this program.
func NewZooKeeper(ctx context.Context, opts ZooKeeperOptions) (*ZooKeeper, error) {
	return newZooKeeper(ctx, opts, reservePort)
}

func newZooKeeper(ctx context.Context, opts ZooKeeperOptions, reserve reserver) (*ZooKeeper, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("start zookeeper: %w", err)
	}
	java, err := exec.LookPath("java")
	if err != nil {
		return nil, fmt.Errorf("start zookeeper: it needs a Java runtime, such as Debian's package default-jre-headless: %w", err)
	}
	jars, err := ZooKeeperJars(ctx, io.Discard)
	if err != nil {
		return nil, err
	}
	var z *ZooKeeper
	err = setUp("zookeeper", func(c *cluster) error {
		z = &ZooKeeper{cluster: c}
		return z.boot(ctx, java, jars, opts, reserve)
	})
	if err != nil {
		return nil, err
	}
	return z, nil
}

func (z *ZooKeeper) boot(ctx context.Context, java, jars string, opts ZooKeeperOptions, reserve reserver) error {
	plan, err := z.plan(jars, opts, reserve)
	if err != nil {
		return err
	}
	// What is set for other Java programs must not leak into this one.
	env := environWithout("JAVA_TOOL_OPTIONS=", "JDK_JAVA_OPTIONS=", "_JAVA_OPTIONS=", "CLASSPATH=")
	for i := range opts.Members {
		args, err := plan.args(i)
		if err != nil {
			return err
		}
		endpoint, epoch := plan.ports[i].client.addr(), plan.epochFile(i)
		newProbe := func() probe { return &zookeeperProbe{ensemble: z, endpoint: endpoint, epochFile: epoch} }
		m, err := z.launch(z.command(i, java, env, args), endpoint, newProbe)
		if err != nil {
			return err
		}
		z.Members = append(z.Members, &ZooKeeperMember{m, z})
	}
	return z.WaitHealthy(ctx)
}

// Member returns the member with index i, counted from 0.
func (z *ZooKeeper) Member(i int) *ZooKeeperMember { return z.Members[i] }

// FourLetter has the member execute a command of four letters, such as "wchs" or
// "mntr", and returns the answer. All commands are allowed. An answer may say
// that the member is not serving, which is no error.
func (m *ZooKeeperMember) FourLetter(ctx context.Context, word string) (string, error) {
	return fourLetter(ctx, m.endpoint, m.ensemble.tlsConfig, word)
}
