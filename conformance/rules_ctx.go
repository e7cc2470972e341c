package conformance

import (
	"context"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

// The directories of the cases. Each case has a namespace of its own.
const (
	dir   = "queue:a"
	other = "queue:b"
)

// directions are the ways a link can be frozen.
var directions = []netfault.Direction{netfault.Up, netfault.Down, netfault.Both}

func ctxRules() []Rule {
	return []Rule{
		{
			ID:   "B1",
			Text: "Every call returns within 100 ms of its ctx ending, whatever the store or the link does.",
			Cases: append(perDirection(prompt),
				Case{Name: "connections refused", Needs: NeedLink, Check: func(t *Trial) { prompt(t, Link.Cut) }},
				Case{Name: "beside forty calls without an answer", Needs: NeedLink, Check: promptBesideOthers},
			),
		},
		{
			ID:   "B2",
			Text: "A ctx bounds the call and never the thing returned.",
			Cases: []Case{
				{Name: "ctx of Open", Check: connOutlives},
				{Name: "ctx of OpenSession", Check: sessionOutlives},
				{Name: "deadline of OpenSession", Check: sessionOutlivesDeadline},
				{Name: "ctx of Create and Update", Check: nodeOutlives},
				{Name: "what calls leave with their ctx", Check: leavesNothingWithCtx},
				{Name: "what calls leave with their ctx, connections refused", Needs: NeedLink, Check: leavesNothingWhenRefused},
			},
		},
	}
}

// perDirection makes a case of each direction in which a link can be frozen.
func perDirection(check func(*Trial, func(Link))) (cases []Case) {
	for _, d := range directions {
		cases = append(cases, Case{
			Name: "frozen " + d.String(), Needs: NeedLink,
			Check: func(t *Trial) { check(t, func(l Link) { l.Freeze(d) }) },
		})
	}
	return cases
}

// method is a call of the driver with everything but the ctx given.
type method struct {
	name string
	call func(ctx context.Context) error
}

// outcome is how a call went whose ctx was ended from outside.
type outcome struct {
	method   string
	err      error // of the call
	ctxErr   error // of its ctx
	ended    time.Time
	returned time.Time // zero: not within a second of the ctx's end
}

// methods are all calls with a ctx, on nodes and slots of their own, so that
// they can be made at the same time.
func (t *Trial) methods(c driver.Conn, s driver.Session) []method {
	return t.methodsOn(c, s, t.Bystander(dir))
}

// methodsOn makes them for a node of another's, which stays.
func (t *Trial) methodsOn(c driver.Conn, s driver.Session, stays driver.Node) []method {
	updated := t.Create(s, dir, "updated")
	deleted := t.Create(s, dir, "deleted")
	t.Create(s, dir, "abandoned")
	nodes := []driver.Node{stays}
	holds := func(nodes []driver.Node, err error) error {
		if _, ok := find(nodes, stays); err == nil && !ok {
			return fmt.Errorf("no error, and a list without %s: %s", show(stays), show(nodes...))
		}
		return err
	}
	ms := []method{
		{"OpenSession", func(ctx context.Context) error { _, err := c.OpenSession(ctx, t.h.TTL); return err }},
		{"Conn.List", func(ctx context.Context) error { return holds(c.List(ctx, dir)) }},
		{"Create", func(ctx context.Context) error { _, err := s.Create(ctx, dir, "created", nil); return err }},
		{"Abandon", func(ctx context.Context) error { return s.Abandon(ctx, dir, "abandoned") }},
		{"Session.List", func(ctx context.Context) error { return holds(s.List(ctx, dir)) }},
		{"WaitDelete", func(ctx context.Context) error { return s.WaitDelete(ctx, stays) }},
		{"Update", func(ctx context.Context) error { _, err := s.Update(ctx, updated, []byte("new")); return err }},
		{"Delete", func(ctx context.Context) error { return s.Delete(ctx, deleted) }},
	}
	if f, ok := driver.As[driver.CreateLister](s); ok {
		ms = append(ms, method{"CreateList", func(ctx context.Context) error {
			_, _, err := f.CreateList(ctx, dir, "listed", nil)
			return err
		}})
	}
	if f, ok := driver.As[driver.NameLister](s); ok {
		ms = append(ms, method{"ListNames", func(ctx context.Context) error { return holds(f.ListNames(ctx, dir, wholeLine)) }})
	}
	if f, ok := driver.As[driver.AnyWaiter](s); ok {
		ms = append(ms, method{"WaitAny", func(ctx context.Context) error { _, err := f.WaitAny(ctx, nodes); return err }})
	}
	return ms
}

// endings are the two ways in which a ctx ends.
var endings = []struct {
	name string
	make func(context.Context, time.Duration) (context.Context, context.CancelFunc)
}{
	{"canceled", func(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(parent)
		timer := time.AfterFunc(d, cancel)
		return ctx, func() { timer.Stop(); cancel() }
	}},
	{"past its deadline", context.WithTimeout},
}

// surrender makes all calls at once, each with a ctx that is ended after an
// eighth of the TTL, and waits for them.
func (t *Trial) surrender(ms []method, end func(context.Context, time.Duration) (context.Context, context.CancelFunc)) []outcome {
	results := make(chan outcome, len(ms))
	for _, m := range ms {
		ctx, cancel := end(t.ctx, t.h.TTL/8)
		t.Cleanup(cancel)
		var returned time.Time
		var err error
		done := t.Go(func() {
			err = m.call(ctx)
			returned = time.Now()
		})
		t.Go(func() {
			if !t.within(t.patience(), ctx.Done()) && !ended(done) {
				t.NotVerified("a ctx did not end in time")
			}
			o := outcome{method: m.name, ctxErr: ctx.Err(), ended: time.Now()}
			if t.within(time.Second, done) {
				o.err, o.returned = err, returned
			}
			results <- o
		})
	}
	outcomes := make([]outcome, 0, len(ms))
	for range ms {
		select { // both at once: the trial is over either way
		case o := <-results:
			outcomes = append(outcomes, o)
		case <-t.ctx.Done():
			t.NotVerified("the case was ended")
		}
	}
	return outcomes
}

func prompt(t *Trial, fault func(Link)) {
	c, l := t.OpenLink()
	ms := t.methods(c, t.SessionOn(c))
	fault(l)
	t.arePrompt(ms)
}

// promptBesideOthers has forty calls wait for an answer, so that a pool of connections or a
// limit of calls under way has no place left.
func promptBesideOthers(t *Trial) {
	c, l := t.OpenLink()
	s := t.SessionOn(c)
	ms := t.methods(c, s)
	var others []func() error
	for i := range 10 {
		n := t.Create(s, dir, fmt.Sprint("other", i))
		others = append(others,
			func() error { _, err := c.List(t.ctx, dir); return err },
			func() error { _, err := s.List(t.ctx, dir); return err },
			func() error { _, err := s.Create(t.ctx, dir, fmt.Sprint("beside", i), nil); return err },
			func() error { _, err := s.Update(t.ctx, n, []byte("new")); return err },
		)
	}
	l.Freeze(netfault.Both)
	for _, call := range others {
		t.Go(func() {
			for driver.Transient(call()) && t.ctx.Err() == nil { // the driver gives each attempt up
				t.pause()
			}
		})
	}
	t.pause()
	t.arePrompt(ms)
}

// arePrompt makes all calls at once, in each way in which a ctx ends, and wants each to
// return in time.
func (t *Trial) arePrompt(ms []method) {
	for _, e := range endings {
		for _, o := range t.surrender(ms, e.make) {
			allowed := 100*time.Millisecond + t.pulse.lag(o.ended)
			if o.returned.IsZero() {
				t.Fatalf("%s had not returned a second after its ctx was %s", o.method, e.name)
			} else if late := o.returned.Sub(o.ended); late > allowed {
				t.Fatalf("%s returned %v after its ctx was %s", o.method, late.Round(time.Millisecond), e.name)
			}
		}
	}
}

// stays fails the trial if the session ends within d.
func (t *Trial) stays(s driver.Session, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select { // at the very end of d a loss may be missed
	case <-timer.C:
	case <-s.Done():
	case <-t.ctx.Done():
	}
	t.isAlive(s)
}

// outlives checks that after its opening ctx has ended the session lives on,
// with a node.
func (t *Trial) outlives(s driver.Session, n driver.Node) {
	t.stays(s, 2*t.h.TTL)
	t.Sees(n)
	if _, err := s.Create(t.ctx, dir, "later", nil); err != nil {
		t.Fatalf("Create on the session: %v", err)
	}
}

func connOutlives(t *Trial) {
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	c, err := t.h.Open(ctx, t.namespace)
	if err != nil {
		t.Fatalf("opening a connection: %v", err)
	}
	t.Cleanup(func() { _ = c.Close() })
	early := t.SessionOn(c)
	n := t.Create(early, dir, "0")
	cancel()
	t.outlives(early, n)
	if _, err := c.OpenSession(t.ctx, t.h.TTL); err != nil {
		t.Fatalf("OpenSession after the ctx given to Open had ended: %v", err)
	}
}

func sessionOutlives(t *Trial) {
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	s, err := t.Open().OpenSession(ctx, t.h.TTL)
	if err != nil {
		t.Fatalf("OpenSession: %v", err)
	}
	n := t.Create(s, dir, "0")
	cancel()
	t.outlives(s, n)
}

// sessionOutlivesDeadline opens a session under a ctx whose deadline passes, and which nobody
// cancels before. A driver may have copied the deadline.
func sessionOutlivesDeadline(t *Trial) {
	ctx, cancel := context.WithTimeout(t.ctx, t.h.TTL)
	defer cancel()
	s, err := t.Open().OpenSession(ctx, t.h.TTL)
	if err != nil {
		t.NotVerified("OpenSession within a TTL: %v", err)
	}
	t.outlives(s, t.Create(s, dir, "0"))
}

func nodeOutlives(t *Trial) {
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	s := t.Session()
	n, err := s.Create(ctx, dir, "0", nil)
	if err == nil {
		n, err = s.Update(ctx, n, []byte("new"))
	}
	if err != nil {
		t.Fatalf("Create and Update: %v", err)
	}
	cancel()
	t.outlives(s, n)
}
