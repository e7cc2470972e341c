package broken

import (
	"context"
	"slices"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/internal/queue"
)

// pollster is a leadership of a line with a wrong rule.
type pollster struct{ held }

// Proclaim writes as the election does: a state of office, and the value.
func (p pollster) Proclaim(ctx context.Context, value []byte) error {
	if err := p.Err(); err != nil {
		return err
	}
	return p.entry.Write(ctx, poster("elected", value))
}

func poster(state string, value []byte) []byte {
	return slices.Concat([]byte(state), []byte("\n"), value)
}

// polled makes an election of a rule. Who has had to wait proclaims that it is
// elected if takes.
func polled(name, breaks, doc string, takes bool, rule queue.Rule) Recipe[Election] {
	return Recipe[Election]{name, breaks, doc, func(c *coord.Client, name string) subject.Electing {
		q := queue.New(c, "election", name, rule, nil)
		e := subject.Election(c, name)
		campaign := func(join func(context.Context, queue.Request) (*queue.Entry, error)) func(context.Context, []byte) (subject.Leadership, error) {
			return func(ctx context.Context, value []byte) (subject.Leadership, error) {
				entry, err := join(ctx, queue.Request{Value: poster("candidate", value), Waiting: poster("standing", value)})
				if err != nil {
					return nil, err
				}
				h, err := entry.Hold(ctx)
				if err != nil {
					return nil, err
				}
				l := pollster{held{h, entry}}
				if takes && entry.Waited() {
					if err := l.Proclaim(ctx, value); err != nil {
						_ = l.Release(context.WithoutCancel(ctx))
						return nil, err
					}
				}
				return l, nil
			}
		}
		e.Campaign, e.TryCampaign = campaign(q.Acquire), campaign(q.TryAcquire)
		return e
	}}
}

// brokenPolls are elections with a wrong rule of who waits for whom, or a wrong
// step of a right one.
func brokenPolls() []Recipe[Election] {
	return []Recipe[Election]{
		polled("all-lead", "K1", "Whoever stands is elected.", true,
			func([]driver.Node, int) queue.Verdict { return queue.Verdict{} }),
		polled("head-alone", "K1", "Everybody waits for the leader, and takes its end for the election.", true,
			func(line []driver.Node, own int) queue.Verdict {
				if own == 0 {
					return queue.Verdict{}
				}
				return queue.Verdict{Blocked: true, Blocker: line[0], Last: true}
			}),
		polled("elected-unsaid", "K1", "Who was elected after a wait is not shown as the leader.", false, queue.OneByOne),
		polled("short-counter", "K21", "The order is that of a counter that begins again. (kazoo #606, #730, #731.)", true, shortCounter(5)),
	}
}
