package broken

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/queue"
)

// pollster is a leadership of a line with a wrong rule.
type pollster struct {
	held
	proclaim func(pollster, context.Context, []byte) error
}

func (p pollster) Proclaim(ctx context.Context, value []byte) error { return p.proclaim(p, ctx, value) }

// write writes as the election does: a state of office, and the value.
func (p pollster) write(ctx context.Context, value []byte) error {
	if err := p.Err(); err != nil {
		return err
	}
	return p.writeBlindly(ctx, value)
}

// writeBlindly writes for as long as there is an entry.
func (p pollster) writeBlindly(ctx context.Context, value []byte) error {
	return p.entry.Write(ctx, poster("elected", value))
}

// writeAtOnce does so beside whatever else is being written, and again after a while if
// the outcome is unknown.
func (p pollster) writeAtOnce(ctx context.Context, value []byte) error {
	s, n := p.Session(), p.entry.Node()
	header, _, _ := bytes.Cut(n.Data, []byte("\n"))
	data := slices.Concat(header, []byte("\n"), poster("elected", value))
	for {
		if err := p.Err(); err != nil {
			return err
		}
		_, err := s.Driver().Update(ctx, n, data)
		switch {
		case errors.Is(err, driver.ErrGone), errors.Is(err, coord.ErrSessionLost):
			return errors.Join(coord.ErrNotHeld, err)
		case err == nil, ctx.Err() != nil, !driver.Transient(err):
			return err
		}
		time.Sleep(s.TTL() / 10)
	}
}

func poster(state string, value []byte) []byte {
	return slices.Concat([]byte(state), []byte("\n"), value)
}

// polling is how an election makes its steps. The zero value is sound.
type polling struct {
	waitsAs  string // the state of who waits; "" is "standing"
	unsaid   bool   // who has had to wait does not proclaim that it is elected
	proclaim func(pollster, context.Context, []byte) error
}

// polled makes an election of a rule.
func polled(name, breaks, doc string, by polling, rule queue.Rule) Recipe[Election] {
	by.waitsAs = cmp.Or(by.waitsAs, "standing")
	if by.proclaim == nil {
		by.proclaim = pollster.write
	}
	return Recipe[Election]{name, breaks, doc, func(c *coord.Client, name string) subject.Electing {
		q := queue.New(c, "election", name, rule)
		e := subject.Election(c, name)
		campaign := func(join func(context.Context, queue.Request) (*queue.Entry, error)) func(context.Context, []byte) (subject.Leadership, error) {
			return func(ctx context.Context, value []byte) (subject.Leadership, error) {
				if led := q.Entered(ctx); led != nil && ctx.Err() == nil {
					return nil, coord.ErrInvalid
				}
				entry, err := join(ctx, queue.Request{Value: poster("candidate", value), Waiting: poster(by.waitsAs, value)})
				if err != nil {
					return nil, err
				}
				h, err := entry.Hold(ctx)
				if err != nil {
					return nil, err
				}
				l := pollster{held{h, entry}, by.proclaim}
				if !by.unsaid && entry.Waited() {
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
		polled("all-lead", "K1", "Whoever stands is elected.", polling{},
			func([]driver.Node, int) queue.Verdict { return queue.Verdict{} }),
		polled("head-alone", "K1", "Everybody waits for the leader, and takes its end for the election.", polling{},
			func(line []driver.Node, own int) queue.Verdict {
				if own == 0 {
					return queue.Verdict{}
				}
				return queue.Verdict{Blocked: true, Blocker: line[0], Last: true}
			}),
		polled("elected-unsaid", "K1", "Who was elected after a wait is not shown as the leader.", polling{unsaid: true}, queue.OneByOne),
		polled("short-counter", "K21", "The order is that of a counter that begins again. (kazoo #606, #730, #731.)", polling{}, shortCounter(5)),
		polled("elected-by-order", "K3", "The first in line shows as the leader, though it may not know yet that it is its turn.", polling{waitsAs: "candidate"}, queue.OneByOne),
		polled("proclaims-after-resigning", "K12", "A leader can proclaim after it has resigned, until that is confirmed.", polling{proclaim: pollster.writeBlindly}, queue.OneByOne),
		polled("proclaims-at-once", "K6", "What may not have been proclaimed is proclaimed again, whatever was proclaimed since.", polling{proclaim: pollster.writeAtOnce}, queue.OneByOne),
	}
}
