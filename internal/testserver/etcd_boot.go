package testserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
)

// isPortTaken reports whether a server ended as another program has its port.
func isPortTaken(err error) bool {
	var exit *exitError
	return errors.As(err, &exit) && strings.Contains(exit.logTail, "address already in use")
}

// bootEtcd tries once to start a cluster, and leaves nothing behind if it fails.
func bootEtcd(ctx context.Context, binary string, opts EtcdOptions, reserve func() (*reservedPort, error)) (*Etcd, error) {
	dir, err := newRunDir()
	if err != nil {
		return nil, err
	}
	e := &Etcd{dir: dir}
	e.close = sync.OnceValue(e.shutDown)
	err = e.boot(ctx, binary, opts, reserve)
	if err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

func (e *Etcd) boot(ctx context.Context, binary string, opts EtcdOptions, reserve func() (*reservedPort, error)) error {
	plan, err := e.plan(binary, opts, reserve)
	if err != nil {
		return err
	}
	for i, c := range plan.commands() {
		process, err := startProcess(c)
		if err != nil {
			return err
		}
		m := &EtcdMember{Process: process, cluster: e, endpoint: plan.clients[i]}
		e.Members = append(e.Members, m)
		// One after the other. A new member asks the others for the cluster, and
		// loses a second for each that listens already but does not answer yet.
		if err := m.waitPeer(ctx, plan.peers[i]); err != nil {
			return err
		}
	}
	return e.WaitHealthy(ctx)
}

// waitPeer waits until the member answers at the URL it has for other members,
// which needs none of them.
func (m *EtcdMember) waitPeer(ctx context.Context, url string) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: probeTimeout}
	for {
		if err := m.serving(); err != nil {
			return err
		}
		err := getVersion(ctx, client, url)
		if err == nil {
			return nil
		}
		if pause(ctx, probeInterval) != nil {
			return fmt.Errorf("etcd member at %s does not answer its peers: %w: %w", url, ctx.Err(), err)
		}
	}
}

func getVersion(ctx context.Context, client *http.Client, url string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/version", nil)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
