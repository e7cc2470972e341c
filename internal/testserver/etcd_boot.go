package testserver

import (
	"context"
	"net/http"
)

func (e *Etcd) boot(ctx context.Context, binary string, opts EtcdOptions, reserve reserver) error {
	plan, err := e.plan(opts, reserve)
	if err != nil {
		return err
	}
	// What is set for another etcd must not leak into this one.
	env := environWithout("ETCD_")
	for i, endpoint := range plan.clients {
		newProbe := func() probe { return &etcdProbe{etcd: e, endpoint: endpoint} }
		m, err := e.launch(e.command(i, binary, env, plan.args(i)), endpoint, newProbe)
		if err != nil {
			return err
		}
		e.Members = append(e.Members, &EtcdMember{m})
		// One after the other. A new member asks the others for the cluster, and
		// loses a second for each that listens already but does not answer yet.
		if err := waitPeer(ctx, m, plan.peers[i]); err != nil {
			return err
		}
	}
	return e.WaitHealthy(ctx)
}

// waitPeer waits until the member answers at the URL it has for other members,
// which needs none of them.
func waitPeer(ctx context.Context, m *member, url string) error {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	return m.poll(ctx, "does not answer its peers", func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/version", nil)
		if err != nil {
			return err
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		return response.Body.Close()
	})
}
