package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/election"
)

// tick is how often the leader counts.
const tick = 100 * time.Millisecond

// news is what the leader proclaims. It is all that the service has to know.
type news struct {
	Leader string `json:"leader"` // its name
	Count  int    `json:"count"`
}

// answer is what clients get.
type answer struct {
	news
	Replica string `json:"replica"` // who answers
	Token   uint64 `json:"token"`   // the leader's, or 0
	Vacant  bool   `json:"vacant"`  // nobody leads; the count is the latest there is
}

// replica is one process of the service.
type replica struct {
	name     string
	url      string
	client   *coord.Client
	election *election.Election
	story    *timeline
	listener net.Listener

	mu     sync.Mutex
	latest answer
}

// newReplica makes a replica that listens already. It owns client from then on.
func newReplica(name, address string, client *coord.Client, story *timeline) (*replica, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	return &replica{
		name:     name,
		url:      "http://" + listener.Addr().String(),
		client:   client,
		election: election.New(client, "counter"),
		story:    story,
		listener: listener,
		latest:   answer{Replica: name, Vacant: true},
	}, nil
}

// run serves, follows and stands for election, all at once, until ctx ends or one
// of them fails for good.
func (r *replica) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var parts sync.WaitGroup
	for _, part := range []func(context.Context) error{r.serve, r.follow, r.stand} {
		parts.Go(func() {
			if err := part(ctx); err != nil {
				cancel(err) // the first error ends them all
			}
		})
	}
	parts.Wait()
	// Nothing is to be left in the store, and ctx has ended.
	last, done := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer done()
	return errors.Join(context.Cause(ctx), r.client.Close(last))
}

// serve answers requests, whoever leads.
func (r *replica) serve(ctx context.Context) error {
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(r.knows()) // a client that has gone needs no answer
		}),
		ReadHeaderTimeout: 5 * time.Second,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(r.listener); ctx.Err() == nil {
		return err
	}
	return nil
}

// follow learns who leads and what the leader has counted. While nobody leads the
// last count stays, and is served.
func (r *replica) follow(ctx context.Context) error {
	for seen, err := range r.election.Observe(ctx) {
		if err != nil {
			return err
		}
		var n news
		if !seen.Vacant {
			if err := json.Unmarshal(seen.Leader.Value, &n); err != nil {
				return fmt.Errorf("what the leader proclaims: %w", err)
			}
		}
		r.learn(seen, n)
	}
	return nil
}

// learn takes in what was observed. A new leader may have missed what the one
// before it has counted last, so counts may fall; what was served does not. What
// must not be missed belongs in a database that checks the token.
func (r *replica) learn(seen election.Observation, n news) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.latest.Vacant = seen.Vacant
	r.latest.Leader = n.Leader
	r.latest.Token = seen.Leader.Token
	r.latest.Count = max(r.latest.Count, n.Count)
}

func (r *replica) knows() answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.latest
}

// stand leads whenever it can.
func (r *replica) stand(ctx context.Context) error {
	return r.election.Run(ctx, r.news(0), r.lead, &election.RunOptions{
		Elected:  func(l *election.Leadership) { r.story.elected(r.name, l.Hold) },
		Defeated: func(l *election.Leadership, _ error) { r.story.say(r.name, "leads no more: %v", l.Err()) },
	})
}

// lead counts on from where the leaders before have come to, until ctx ends, with
// the leadership or the program.
func (r *replica) lead(ctx context.Context, l *election.Leadership) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for count := r.knows().Count + 1; ; count++ {
		// A leader that is cut off goes on trying, until it is told of its loss. A
		// count that did not arrive in time is overtaken by the next.
		if err := l.Proclaim(ctx, r.news(count)); err != nil && ctx.Err() == nil {
			r.story.say(r.name, "could not proclaim %d: %v", count, err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done(): // or both: the next Proclaim would fail
			return context.Cause(ctx)
		}
	}
}

func (r *replica) news(count int) []byte {
	text, err := json.Marshal(news{r.name, count})
	if err != nil { // a string and a number
		panic(err)
	}
	return text
}
