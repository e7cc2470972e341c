package netfault

import "errors"

// Group is one proxy for each endpoint of a cluster: all that one client, or
// one site, sees of it. Its Control faults all of them as one step. To fault a
// single endpoint use that Proxy's own; to give each of several clients a
// network of its own, make a group for each.
type Group struct {
	*Control
}

// NewGroup makes a proxy, as New does, for each target. There must be at least
// one. After an error nothing is left open; otherwise the caller must Close the
// group, which closes its proxies.
func NewGroup(targets ...string) (*Group, error) {
	return newGroup(tcp{}, targets)
}

func newGroup(network transport, targets []string) (*Group, error) {
	if len(targets) == 0 {
		return nil, errors.New("netfault: a group needs at least one target")
	}
	g := &Group{Control: &Control{hub: new(hub)}}
	for _, target := range targets {
		p, err := start(g.hub, network, target)
		if err != nil {
			return nil, errors.Join(err, g.Close())
		}
		g.proxies = append(g.proxies, p)
	}
	return g, nil
}

// Addrs returns the addresses of the proxies, in the order of the targets.
func (g *Group) Addrs() []string {
	addrs := make([]string, len(g.proxies))
	for i, p := range g.proxies {
		addrs[i] = p.Addr()
	}
	return addrs
}

// Proxy returns the proxy of the i-th target, counted from 0. It panics if
// there is none.
func (g *Group) Proxy(i int) *Proxy { return g.proxies[i] }
