package testserver

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
)

// startAttempts is how often a cluster is set up anew because a port was taken
// in spite of its reservation.
const startAttempts = 3

// cluster is what the clusters of all stores have in common. Its methods may be
// called from any goroutine.
type cluster struct {
	store   string // its name, for errors
	dir     *runDir
	ports   []*reservedPort
	members []*member // does not change after the start
	close   func() error
}

// reserver reserves a port. It is [reservePort], save in tests.
type reserver func() (*reservedPort, error)

// setUp makes a new cluster and has boot start it, with other ports if one turns
// out to be taken. It leaves nothing behind if it fails.
func setUp(store string, boot func(*cluster) error) error {
	for attempt := 1; ; attempt++ {
		dir, err := newRunDir()
		if err != nil {
			return fmt.Errorf("start %s: %w", store, err)
		}
		c := &cluster{store: store, dir: dir}
		c.close = sync.OnceValue(c.shutDown)
		err = boot(c)
		if err == nil {
			return nil
		}
		err = errors.Join(err, c.Close())
		if attempt == startAttempts || !isPortTaken(err) {
			return fmt.Errorf("start %s: %w", store, err)
		}
	}
}

// reservePorts reserves n ports until the cluster is closed.
func (c *cluster) reservePorts(n int, reserve reserver) ([]*reservedPort, error) {
	for range n {
		port, err := reserve()
		if err != nil {
			return nil, err
		}
		c.ports = append(c.ports, port)
	}
	return c.ports[len(c.ports)-n:], nil
}

// secure makes certificates in the cluster's directory.
func (c *cluster) secure() (*serverTLS, error) {
	dir, err := c.dir.sub("tls")
	if err != nil {
		return nil, err
	}
	files, err := newServerTLS(dir)
	if err != nil {
		return nil, fmt.Errorf("make certificates: %w", err)
	}
	return files, nil
}

// command says how to run member i.
func (c *cluster) command(i int, path string, env, args []string) command {
	return command{
		name: fmt.Sprintf("%s member %d", c.store, i),
		path: path,
		args: args,
		env:  env,
		dir:  c.dir,
		log:  filepath.Join(c.dir.path, memberName(i)+".log"),
	}
}

// memberName is what member i is called by the others and in file names.
func memberName(i int) string { return "m" + strconv.Itoa(i) }

// launch starts the process of one more member, which does not serve yet.
func (c *cluster) launch(cmd command, endpoint string, newProbe func() probe) (*member, error) {
	process, err := startProcess(cmd)
	if err != nil {
		return nil, err
	}
	m := &member{Process: process, endpoint: endpoint, newProbe: newProbe}
	c.members = append(c.members, m)
	return m, nil
}

// Endpoints returns the endpoints of all members, in their order.
func (c *cluster) Endpoints() []string {
	var endpoints []string
	for _, m := range c.members {
		endpoints = append(endpoints, m.Endpoint())
	}
	return endpoints
}

// Close kills all members, frozen or not, and removes their directory. Every
// call returns the first one's result.
func (c *cluster) Close() error { return c.close() }

func (c *cluster) shutDown() error {
	var errs []error
	for _, m := range c.members {
		errs = append(errs, m.Process.close())
	}
	for _, p := range c.ports {
		errs = append(errs, p.release())
	}
	errs = append(errs, c.dir.remove())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close %s: %w", c.store, err)
	}
	return nil
}

// WaitHealthy waits until every member that was not killed or frozen by the
// caller serves, see [EtcdMember.WaitHealthy]. It fails when ctx ends, with the
// last reasons why not; at once if no such member is left or if one ends by
// itself.
func (c *cluster) WaitHealthy(ctx context.Context) error {
	// One member's failure ends the wait for the others, which may depend on it.
	each, cancel := context.WithCancel(ctx)
	defer cancel()
	var down []error
	healthy := make(chan error)
	for _, m := range c.members {
		err := m.serving()
		if errors.Is(err, errKilled) || errors.Is(err, errFrozen) {
			down = append(down, err)
			continue
		}
		go func() { healthy <- m.WaitHealthy(each) }()
	}
	if len(down) == len(c.members) {
		return fmt.Errorf("no %s member serves: %w", c.store, errors.Join(down...))
	}
	var errs []error
	for range len(c.members) - len(down) {
		if err := <-healthy; err != nil {
			errs = append(errs, err)
			cancel()
		}
	}
	if len(errs) > 0 && ctx.Err() == nil {
		return errs[0] // the rest came of the cancel
	}
	return errors.Join(errs...)
}
