package conformance

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord/driver"
)

func paceRules() []Rule {
	broken := func(name string, fault func(meter)) Case {
		return Case{Name: name, Needs: NeedLink, Check: func(t *Trial) {
			t.keepsPace(func(links []meter) {
				for _, l := range links {
					fault(l)
				}
			})
		}}
	}
	return []Rule{{
		ID:   "E4",
		Text: "However the store fails, no call, wait, watch or session makes more than 100 attempts a second.",
		Cases: []Case{
			broken("link works", func(meter) {}),
			broken("link frozen", func(l meter) { l.Freeze(netfault.Both) }),
			broken("replies lost", func(l meter) { l.DropReplies() }),
			broken("connections reset at once", meter.Reject),
			{Name: "namespace removed", Needs: NeedLink | NeedRemoveDir, Check: func(t *Trial) {
				t.keepsPace(func([]meter) { t.removeNamespace() })
			}},
		},
	}}
}

// meter is a Link that counts what passes, as those of netfault do. Reject resets
// connections as soon as they are made, and counts them.
type meter interface {
	Link
	Stats() netfault.Stats
	Reject()
}

// attemptsOver are the connections that a client has made and the requests it has sent.
func attemptsOver(l meter) int64 {
	s := l.Stats()
	return int64(s.Accepted) + s.Up.Reads
}

const (
	mostAttempts = 100 // a second
	mostAtOnce   = 50  // beside that, in a moment
)

// activity is what one client does in a case of E4, beside keeping its session.
type activity struct {
	method
	link   meter
	before int64
}

// activities are one client for each method, and one that only keeps its session.
func (t *Trial) activities() (all []activity) {
	stays := t.Bystander(dir)
	client := func() (driver.Conn, meter, []method) {
		c, l := t.OpenLink()
		m, ok := l.(meter)
		if !ok {
			t.NotVerified("the link does not count what passes: it has no Stats and Reject, as a netfault.Proxy has")
		}
		ms := t.methodsOn(c, t.SessionOn(c), stays)
		if f, ok := driver.As[driver.Watcher](c); ok {
			ms = append(ms, method{"Watch", func(ctx context.Context) (err error) {
				for _, err = range f.Watch(ctx, dir) { // whose last error is returned
				}
				return err
			}})
		}
		return c, m, ms
	}
	_, l, ms := client()
	all = append(all, activity{link: l, method: method{"a session that is kept", func(context.Context) error { return nil }}})
	for i := range ms {
		_, l, ms := client()
		all = append(all, activity{link: l, method: ms[i]})
	}
	return all
}

// keepsPace lets something happen to clients and counts the attempts of each for a
// while. Waits and watches are begun before it, and calls after.
func (t *Trial) keepsPace(happen func([]meter)) {
	all := t.activities()
	begin := func(a activity) { t.Go(func() { _ = a.call(t.ctx) }) } // how it ends is for other rules
	lasts := func(a activity) bool { return strings.HasPrefix(a.name, "Wa") }
	var links []meter
	for _, a := range all {
		links = append(links, a.link)
		if lasts(a) {
			begin(a)
		}
	}
	t.pause()
	for i := range all {
		all[i].before = attemptsOver(all[i].link)
	}
	start := time.Now()
	happen(links)
	for _, a := range all {
		if !lasts(a) {
			begin(a)
		}
	}
	t.sleep(min(max(t.h.TTL/2, 500*time.Millisecond), 2*time.Second))
	for _, a := range all {
		made, took := attemptsOver(a.link)-a.before, time.Since(start)
		most := mostAtOnce + int64(2*mostAttempts*took.Seconds()) // its session's too
		if made > most {
			t.Fatalf("%s: %d attempts (connections made and requests sent) in %v; want %d at the most, with those of its session",
				a.name, made, took.Round(time.Millisecond), most)
		}
	}
}

// removeNamespace removes all that there is in the case's namespace, as an operator
// would, if that is a directory of the one above it.
func (t *Trial) removeNamespace() {
	n := t.Bystander(other)
	t.Sees(n)
	cut := strings.LastIndexByte(t.namespace, '/')
	err := t.h.RemoveDir(t.ctx, t.namespace[:cut], t.namespace[cut+1:])
	if err != nil || !t.comes(t.lateness(), t.absent(n)) {
		t.NotOffered(fmt.Sprintf("namespaces that are directories of the one above (RemoveDir: %v)", err))
	}
}
