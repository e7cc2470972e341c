package broken

import (
	"bytes"
	"context"
	"fmt"
	"strconv"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
)

// count makes a semaphore of a rule, whose limit is what each was given.
func count(name, breaks, doc string, gate bool, rule func(line []driver.Node, own, limit int) queue.Verdict) Recipe[Semaphore] {
	return Recipe[Semaphore]{name, breaks, doc, func(c *coord.Client, name string, limit int) subject.Counting {
		q := queue.New(c, "semaphore", name, func(line []driver.Node, own int) queue.Verdict {
			if queue.IsGate(line[own]) {
				return queue.Verdict{Aside: true}
			}
			return rule(line, own, limit)
		})
		describe := func(n driver.Node, c *coord.Contender) { c.Permits = wanted(n) }
		return subject.Counting{
			Want: func(n int) subject.Want {
				return wants(q, queue.Request{Kind: "p", Value: []byte(fmt.Sprintf("%d/%d@0", n, limit)), Gate: gate}, describe)
			},
			SetLimit: func(context.Context, int) error { return nil },
			Limit: func(ctx context.Context) (int, int, error) {
				c, err := q.Contenders(ctx, describe)
				used := 0
				for _, h := range c.Holders {
					used += h.Permits
				}
				return limit, used, err
			},
		}
	}}
}

// wanted is how many permits an entry is for.
func wanted(n driver.Node) int {
	if queue.IsGate(n) {
		return 0
	}
	permits, _, _ := bytes.Cut(queue.Value(n), []byte("/"))
	sum, _ := strconv.Atoi(string(permits)) // as count has written it
	return sum
}

// brokenCounts are semaphores with a wrong rule of who waits for whom.
func brokenCounts() []Recipe[Semaphore] {
	sum := func(line []driver.Node, most int) (all int) {
		for _, n := range line {
			if w := wanted(n); w <= most-all || most == 0 {
				all += w
			}
		}
		return all
	}
	return []Recipe[Semaphore]{
		count("own-limit", "P9", "Everybody goes by the limit that was given to it. (Curator's SemaphoreV2.)", true,
			func(line []driver.Node, own, limit int) queue.Verdict {
				v := queue.Verdict{Blocked: sum(line[:own+1], 0) > limit}
				if v.Blocked {
					v.Blocker, _ = queue.NearestGate(line, 0, own)
				}
				return v
			}),
		count("herd", "P6", "Everybody who waits looks at every change of the line.", false,
			func(line []driver.Node, own, limit int) queue.Verdict {
				return queue.Verdict{Blocked: sum(line[:own+1], 0) > limit}
			}),
		count("whoever-fits", "P2", "Who fits comes in, so that large requests starve.", false,
			func(line []driver.Node, own, limit int) queue.Verdict {
				return queue.Verdict{Blocked: wanted(line[own]) > limit-sum(line[:own], limit)}
			}),
		count("one-too-many", "P1", "The own permits do not count. (kazoo #213.)", false,
			func(line []driver.Node, own, limit int) queue.Verdict {
				return queue.Verdict{Blocked: sum(line[:own], 0) >= limit}
			}),
		count("short-counter", "P23", "The order is that of a counter that begins again. (kazoo #606, #730, #731.)", false,
			func(line []driver.Node, own, limit int) queue.Verdict {
				ahead := 0
				for _, n := range line {
					if n.Seq%8 < line[own].Seq%8 {
						ahead += wanted(n)
					}
				}
				return queue.Verdict{Blocked: ahead+wanted(line[own]) > limit}
			}),
	}
}
