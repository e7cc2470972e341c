package testserver

import (
	"context"
	"fmt"
	"time"
)

// How long one look at a member may take, which matters only for one that
// accepts connections and does not answer, and the pause between looks.
const (
	probeTimeout  = time.Second
	probeInterval = 20 * time.Millisecond
)

// member is what the servers of all stores have in common. It keeps its ports
// and its data when it is killed and restarted.
type member struct {
	*Process
	endpoint string
	newProbe func() probe
}

// probe looks at one member alone, in the store's own way. It is for one
// goroutine.
type probe interface {
	// serves returns nil if the member has taken part, just now, in what needs a
	// majority of the members, and has caught up with it.
	serves(ctx context.Context) error
	// view asks what the member knows of the cluster.
	view(ctx context.Context) (view, error)
	close()
}

// Endpoint returns where the member serves clients: for etcd and Consul a URL,
// for the others host:port.
func (m *member) Endpoint() string { return m.endpoint }

// WaitHealthy waits until the member serves: until it has done, by itself, what
// takes a majority of the members, and so has caught up with them and knows a
// leader. With etcd and Consul that is a linearizable read, with ZooKeeper the
// opening of a session, and with a database server a query. It fails when ctx ends, with the last reason why not,
// and at once if the member is frozen or has ended.
func (m *member) WaitHealthy(ctx context.Context) error {
	p := m.newProbe()
	defer p.close()
	return m.poll(ctx, "is not healthy", p.serves)
}

// poll asks until the answer is no error, or ctx ends, or the member does.
func (m *member) poll(ctx context.Context, otherwise string, ask func(context.Context) error) error {
	for {
		if err := m.serving(); err != nil {
			return err
		}
		err := briefly(ctx, ask)
		if err == nil {
			return nil
		}
		if pause(ctx, probeInterval) != nil {
			return fmt.Errorf("%s at %s %s: %w: %w", m.command.name, m.endpoint, otherwise, ctx.Err(), err)
		}
	}
}

// briefly asks once, within probeTimeout.
func briefly(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return ask(ctx)
}
