package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// demo runs replicas in one process, with a client that asks all of them all the
// time, and cuts the leader off from the store once.
func demo(ctx context.Context, config coord.Config, replicas int, story *timeline) error {
	if config.SessionTTL == 0 {
		config.SessionTTL = coord.Duration(2 * time.Second) // everybody waits for it
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stage := &stage{story: story, links: make(map[string]*mem.Link)}
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel(errCurtain)
	for i := range replicas {
		r, err := stage.open(ctx, config, fmt.Sprint("replica-", i+1))
		if err != nil {
			return err
		}
		if i == 0 { // the URL and the TTL are all right
			fmt.Fprintf(story.out, "%d replicas on %s with a TTL of %v\n\n", replicas, config.URL, time.Duration(config.SessionTTL))
		}
		group.Go(func() {
			if err := r.run(ctx); !errors.Is(err, errCurtain) {
				cancel(fmt.Errorf("%s: %w", r.name, err))
			}
		})
	}
	asker := &asker{urls: stage.urls, highest: make(map[string]int)}
	asked := make(chan struct{})
	asking, enough := context.WithCancel(ctx)
	defer enough()
	go func() {
		defer close(asked)
		asker.ask(asking)
	}()
	stage.accident(ctx)
	enough()
	<-asked
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return stage.verdict(asker)
}

// errCurtain ends the replicas when the story is told.
var errCurtain = errors.New("the story is told")

// stage is where the story happens.
type stage struct {
	story *timeline
	urls  []string
	links map[string]*mem.Link // by replica
}

// open makes a replica whose link to the store can be cut.
func (s *stage) open(ctx context.Context, config coord.Config, name string) (*replica, error) {
	opener, err := driver.DefaultMux.Lookup("mem")
	if err != nil {
		return nil, err
	}
	open := opener.Open
	opener.Open = func(ctx context.Context, target driver.Target) (driver.Conn, error) {
		conn, err := open(ctx, target)
		if err == nil {
			s.links[name] = conn.(*mem.Conn).Link()
		}
		return conn, err
	}
	config.Mux = new(driver.Mux)
	config.Mux.Register("mem", opener)
	config.Owner.Name = name
	client, err := config.Open(ctx)
	if err != nil {
		return nil, err
	}
	r, err := newReplica(name, "127.0.0.1:0", client, s.story)
	if err != nil {
		return nil, errors.Join(err, client.Close(ctx))
	}
	s.urls = append(s.urls, r.url)
	return r, nil
}

// accident waits for a leader, lets it lead for a while, cuts it off, waits for
// the next, and mends the link. It returns early when ctx ends.
func (s *stage) accident(ctx context.Context) {
	victim, lost := s.next(ctx, nil)
	pause(ctx, 5*tick)
	if ctx.Err() != nil {
		return
	}
	s.story.say(victim, "was cut off from the store")
	s.links[victim].Cut()
	heir, _ := s.next(ctx, lost)
	pause(ctx, 5*tick)
	if ctx.Err() != nil {
		return
	}
	_ = s.links[victim].Heal() // of this store it never fails
	s.story.say(victim, "is connected again; %s leads on", heir)
	pause(ctx, 5*tick)
}

// next waits for a leadership other than before.
func (s *stage) next(ctx context.Context, before *coord.Hold) (string, *coord.Hold) {
	for ctx.Err() == nil {
		if who, hold := s.story.current(); hold != before {
			return who, hold
		}
		pause(ctx, tick/10)
	}
	return "", nil
}

// verdict sums up. It is an error if a promise was broken.
func (s *stage) verdict(a *asker) error {
	t := s.story
	t.mu.Lock()
	defer t.mu.Unlock()
	yes := map[bool]string{true: "yes", false: "NO"}
	fmt.Fprintf(t.out, "\n%d leaders, tokens strictly rising: %s, one at a time: %s\n", t.terms, yes[t.fallen == 0], yes[t.overlaps == 0])
	fmt.Fprintf(t.out, "%d requests answered, %d of them while nobody led; every request: %s, no count fell: %s\n",
		a.answered, a.vacant, yes[a.failed == 0], yes[a.fallen == 0])
	if t.fallen+t.overlaps+a.failed+a.fallen != 0 {
		return errors.New("a promise was broken")
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
