package testserver

import (
	"context"
	"fmt"
)

// EtcdMember is one server of a cluster. It keeps its ports and its data when it
// is killed and restarted.
type EtcdMember struct {
	*Process
	cluster  *Etcd
	endpoint string
}

// Endpoint returns the URL at which the member serves clients.
func (m *EtcdMember) Endpoint() string { return m.endpoint }

// WaitHealthy waits until the member answers a linearizable read, so until it
// has caught up and the cluster has a leader. It fails when ctx ends, with the
// last reason why not, and at once if the member is frozen or has ended.
func (m *EtcdMember) WaitHealthy(ctx context.Context) error {
	p := &probe{member: m}
	defer p.close()
	for {
		if err := m.serving(); err != nil {
			return err
		}
		err := p.read(ctx)
		if err == nil {
			return nil
		}
		if pause(ctx, probeInterval) != nil {
			return fmt.Errorf("etcd member at %s is not healthy: %w: %w", m.endpoint, ctx.Err(), err)
		}
	}
}
