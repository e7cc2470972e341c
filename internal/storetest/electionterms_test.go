package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coordkit/coordkit/coord"
)

// newest returns the term with the highest token, or nil. The caller holds the
// lock.
func (c *contest) newest() *reign {
	if len(c.terms) == 0 {
		return nil
	}
	return slices.MaxFunc(c.terms, func(a, b *reign) int { return cmp.Compare(a.Token, b.Token) })
}

// settle waits until everybody who follows is shown the same leader, everybody
// else knows that it does not lead, and all candidates stand in line.
func (c *contest) settle() (leader *reign) {
	c.t.Helper()
	for {
		c.await("all is settled", func() bool {
			leader = c.newest()
			return leader != nil && !leader.over() && c.shows(leader.Token, 0) &&
				!slices.ContainsFunc(c.terms, func(r *reign) bool { return r != leader && !r.over() })
		})
		line, err := c.election.Candidates(c.ctx)
		if err == nil && c.complete(line, leader) {
			return leader
		}
		select { // the line tells nobody when it is complete
		case <-time.After(10 * time.Millisecond):
		case <-c.ctx.Done():
			c.t.Fatalf("the line is %+v, %v; leader %d", line, err, leader.Token)
		}
	}
}

// over: nothing more is to be heard of it.
func (r *reign) over() bool { return r.Over || r.killed }

// complete: the leader leads a line of each candidate once.
func (c *contest) complete(line coord.Contenders, leader *reign) bool {
	if len(line.Holders) != 1 || line.Holders[0].Token != leader.Token {
		return false
	}
	var stand, want []int
	for _, one := range slices.Concat(line.Holders, line.Waiters) {
		stand = append(stand, one.Owner.PID)
	}
	for _, p := range c.running {
		want = append(want, p.Pid)
	}
	slices.Sort(stand)
	slices.Sort(want)
	return slices.Equal(stand, want)
}

// successor waits until everybody who follows is shown a later leader than old,
// and returns the first one; or until everybody is shown what old has proclaimed
// a TTL after the accident, by when it has proved itself alive once more, and
// returns nil.
func (c *contest) successor(old *reign, accident time.Duration) (next *reign) {
	c.t.Helper()
	c.await("there is a successor", func() bool {
		newest := c.newest()
		if newest == old {
			return c.shows(old.Token, accident+c.s.ttl)
		}
		return !newest.over() && c.shows(newest.Token, 0)
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.terms {
		if r.Token > old.Token && (next == nil || r.Token < next.Token) {
			next = r
		}
	}
	return next
}

// judge judges all leaders by those who followed them. It returns how long the
// contexts of those who could be told had ended before the next one began.
func (c *contest) judge() (margins []time.Duration) {
	c.t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.SortedFunc(slices.Values(c.terms), func(a, b *reign) int { return cmp.Compare(a.Began, b.Began) })
	for i, next := range all[1:] {
		old := all[i]
		wrong := func(what string) {
			c.t.Helper()
			c.t.Errorf("leader %d and leader %d after it: %s; %s", old.Token, next.Token, what, c.state())
		}
		if old.Token >= next.Token {
			wrong("the token did not rise")
		}
		if old.Alive >= next.Began {
			wrong("OVERLAP: the old one looked, and its context was alive")
		}
		if old.Wrote >= next.Began {
			wrong("OVERLAP: what the old one proclaimed was written")
		}
		if old.killed {
			continue // which ends without a word
		}
		if !old.Over || !old.Lost || !old.Refused {
			wrong("the old one has not lost its office, or could still proclaim")
		}
		if old.frozen {
			continue // which cannot be told in time; it knew when it looked, see above
		}
		if old.Ended >= next.Began {
			wrong("OVERLAP: the context of the old one ended later")
		}
		margins = append(margins, next.Began-old.Ended)
	}
	return margins
}

// state is what is known, for errors. The caller holds the lock.
func (c *contest) state() string {
	var b strings.Builder
	for _, r := range c.terms {
		fmt.Fprintf(&b, "\nof %d, killed %t, frozen %t: %+v", r.by.Pid, r.killed, r.frozen, r.term)
	}
	fmt.Fprintf(&b, "\nobservers are shown")
	for _, o := range c.observers {
		fmt.Fprintf(&b, " %d", o.leader)
	}
	return b.String()
}
