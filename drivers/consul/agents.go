package consul

import (
	"context"
	"sync"

	"github.com/hashicorp/consul/api"
)

// agents are the agents that a connection knows, of which it talks to one at a
// time: sessions and keys are the whole datacenter's, so any of them will do.
// When one does not answer, the next is asked, and stays.
type agents struct {
	mu   sync.Mutex
	all  []access
	next int // after the current one
	at   *agent
}

// agent is one of them, from when it became the current one until it is given
// up.
type agent struct {
	access
	ctx    context.Context // ends when it is given up
	giveUp context.CancelFunc
}

// access is how an agent is asked: for sessions and, by what may be another way, about
// keys.
type access struct {
	*api.Client
	keys keys
}

func newAgents(all []access) *agents {
	a := &agents{all: all}
	a.turn()
	return a
}

func (a *agents) turn() {
	a.at = &agent{access: a.all[a.next]}
	a.at.ctx, a.at.giveUp = context.WithCancel(context.Background())
	a.next = (a.next + 1) % len(a.all)
}

// current returns the agent to ask.
func (a *agents) current() *agent {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.at
}

// giveUp moves on to the next agent, unless that has been done already.
func (a *agents) giveUp(which *agent) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.at != which || len(a.all) == 1 {
		return
	}
	which.giveUp()
	a.turn()
}
