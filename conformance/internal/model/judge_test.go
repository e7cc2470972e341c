package model_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/model"
)

// Each history breaks the rule that is given, or none.
func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name, rule string
		happens    func(b *build, a, z *model.Session)
	}{
		{"a wait ends for a node that stands", "W2", func(b *build, a, z *model.Session) {
			n := b.create(a, "0", "", nil)
			b.call(&model.Call{Op: model.WaitDelete, Session: z, Nodes: []model.Node{n}})
		}},
		{"a wait ends for a node that may have been deleted", "", func(b *build, a, z *model.Session) {
			n := b.create(a, "0", "", nil)
			b.delete(n, uncertain)
			b.call(&model.Call{Op: model.WaitDelete, Session: z, Nodes: []model.Node{n}})
		}},
		{"and shows afterwards", "W2", func(b *build, a, z *model.Session) {
			n := b.create(a, "0", "", nil)
			b.delete(n, uncertain)
			b.call(&model.Call{Op: model.WaitDelete, Session: z, Nodes: []model.Node{n}})
			b.observes(n)
		}},
		{"a delete surely had no effect, and has", "U2", func(b *build, a, _ *model.Session) {
			n := b.create(a, "0", "", nil)
			b.delete(n, unavailable)
			b.observes()
		}},
		{"an observer does not see what was acknowledged", "L5", func(b *build, a, _ *model.Session) {
			n := b.create(a, "0", "", nil)
			b.observes()
			b.observes(n)
		}},
		{"a node is created and listed at the same time", "", func(b *build, a, _ *model.Session) {
			n := b.node(a, "0", "")
			create := b.begin(&model.Call{Op: model.Create, Session: a, ID: "0", Node: n})
			b.observes(n)
			b.end(create)
			list := b.begin(&model.Call{Op: model.ConnList})
			b.delete(n, nil)
			b.end(list)
		}},
		{"a session's list is behind in what others do", "", func(b *build, a, z *model.Session) {
			n := b.create(a, "0", "", nil)
			b.lists(z)
			b.delete(n, nil)
			b.lists(z, n)
		}},
		{"and not in what they did before its own", "L3", func(b *build, a, z *model.Session) {
			b.create(a, "0", "", nil)
			own := b.create(z, "0", "", nil)
			b.lists(z, own)
		}},
		{"a session does not list its own update", "L3", func(b *build, a, _ *model.Session) {
			n := b.create(a, "0", "old", nil)
			b.update(n, "new", nil)
			b.lists(a, n)
		}},
		{"a list that never was", "L3", func(b *build, a, z *model.Session) {
			n := b.create(a, "0", "", nil)
			b.delete(n, nil)
			m := b.create(a, "1", "", nil)
			b.lists(z, n, m)
		}},
		{"a list that overlooks who is ahead", "L3", func(b *build, a, z *model.Session) {
			n, m := b.node(a, "0", ""), b.node(z, "0", "")
			first := b.begin(&model.Call{Op: model.Create, Session: a, ID: "0", Node: n})
			b.created(z, m, nil)
			b.lists(z, m)
			b.end(first)
		}},
		{"an order that is not that of Seq", "L1", func(b *build, a, z *model.Session) {
			n, m := b.create(a, "0", "", nil), b.create(z, "0", "", nil)
			b.observes(m, n)
		}},
		{"a node of nobody", "L1", func(b *build, a, _ *model.Session) {
			n := b.node(a, "0", "")
			n.Session = "?"
			b.observes(n)
		}},
		{"a node that nobody asked for", "C1", func(b *build, a, _ *model.Session) { b.observes(b.node(a, "0", "")) }},
		{"another session's node", "C3", func(b *build, a, z *model.Session) {
			b.create(a, "0", "", nil)
			n := b.node(a, "0", "")
			b.call(&model.Call{Op: model.Create, Session: a, ID: "0", Err: uncertain})
			b.call(&model.Call{Op: model.Create, Session: z, ID: "0", Node: n})
		}},
		{"a lost create lands before the next", "", func(b *build, a, _ *model.Session) {
			n := b.create(a, "0", "first", uncertain)
			b.call(&model.Call{Op: model.Create, Session: a, ID: "0", Data: model.DataOf([]byte("second")), Node: n})
		}},
		{"and after it", "C2", func(b *build, a, _ *model.Session) {
			orphan := b.create(a, "0", "", uncertain)
			n := b.create(a, "0", "", nil)
			b.delete(n, nil)
			b.observes(orphan)
		}},
		{"a lost create lands after Abandon", "C4", func(b *build, a, _ *model.Session) {
			orphan := b.create(a, "0", "", uncertain)
			b.call(&model.Call{Op: model.Abandon, Session: a, ID: "0"})
			b.observes(orphan)
		}},
		{"a lost Abandon takes the next node", "C4", func(b *build, a, _ *model.Session) {
			b.call(&model.Call{Op: model.Abandon, Session: a, ID: "0", Err: uncertain})
			b.create(a, "0", "", nil)
			b.observes()
		}},
		{"a lost delete takes the next node", "U2", func(b *build, a, _ *model.Session) {
			n := b.create(a, "0", "", nil)
			b.delete(n, uncertain)
			b.create(a, "0", "", nil)
			b.observes()
		}},
		{"a slot keeps its place", "C5", func(b *build, a, z *model.Session) {
			n := b.create(a, "0", "", nil)
			b.create(z, "0", "", nil)
			b.delete(n, nil)
			again := b.node(a, "0", "")
			again.Seq = 0
			b.created(a, again, nil)
		}},
		{"a token that is less", "O2", func(b *build, a, z *model.Session) {
			b.create(a, "0", "", nil)
			n := b.node(z, "0", "")
			n.Token = 0
			b.created(z, n, nil)
		}},
		{"a counter begins anew with its directory", "", func(b *build, a, z *model.Session) {
			b.create(a, "0", "", nil)
			b.call(&model.Call{Op: model.RemoveDir, Conn: -1})
			n := b.node(z, "0", "")
			n.Seq = 0
			b.created(z, n, nil)
			b.observes(n)
		}},
		{"the dead return", "C2", func(b *build, a, _ *model.Session) {
			n := b.create(a, "0", "", nil)
			b.call(&model.Call{Op: model.RemoveNode, Conn: -1, Nodes: []model.Node{n}})
			b.created(a, n, nil)
		}},
		{"an operator removed a former node of the slot", "", func(b *build, a, _ *model.Session) {
			former := b.create(a, "0", "", nil)
			b.delete(former, nil)
			n := b.create(a, "0", "", nil)
			b.call(&model.Call{Op: model.RemoveNode, Conn: -1, Nodes: []model.Node{former}})
			b.created(a, n, nil)
		}},
		{"an update was given up and comes through at last", "U5", func(b *build, a, _ *model.Session) {
			n := b.create(a, "0", "", nil)
			late := b.update(n, "first", uncertain)
			b.update(n, "second", nil)
			b.observes(late).Final = true
		}},
		{"an update was given up and comes through", "", func(b *build, a, _ *model.Session) {
			n := b.create(a, "0", "", nil)
			late := b.update(n, "first", uncertain)
			b.observes(n)
			b.observes(late)
			b.observes(b.update(n, "second", nil))
		}},
		{"an update surely had no effect, and has", "E2", func(b *build, a, _ *model.Session) {
			n := b.create(a, "0", "", nil)
			b.observes(b.update(n, "new", unavailable))
		}},
		{"data of nobody", "C8", func(b *build, a, _ *model.Session) {
			n := b.create(a, "0", "mine", nil)
			n.Data = model.DataOf([]byte("min"))
			b.observes(n)
		}},
		{"ErrGone of a node that stands", "U1", func(b *build, a, _ *model.Session) {
			b.update(b.create(a, "0", "", nil), "new", gone)
		}},
		{"an update of a node that is gone", "U2", func(b *build, a, _ *model.Session) {
			n := b.create(a, "0", "", nil)
			b.delete(n, nil)
			b.update(n, "new", nil)
		}},
		{"CreateList without its own", "F1", func(b *build, a, _ *model.Session) {
			b.call(&model.Call{Op: model.CreateList, Session: a, ID: "0", Node: b.node(a, "0", "")})
		}},
		{"a watch goes back", "V2", func(b *build, a, _ *model.Session) {
			n := b.create(a, "0", "", nil)
			watch := b.begin(&model.Call{Op: model.Watch})
			b.shows(watch, n)
			b.delete(n, nil)
			b.shows(watch)
			b.shows(watch, n)
		}},
		{"a node goes before its session's end is told", "S1", func(b *build, a, _ *model.Session) {
			b.create(a, "0", "", nil)
			b.h.Faults = []model.Fault{{Conn: 1, From: -time.Hour, To: time.Hour}}
			b.observes()
			b.ends(a)
		}},
		{"and after it", "", func(b *build, a, _ *model.Session) {
			b.create(a, "0", "", nil)
			b.h.Faults = []model.Fault{{Conn: 1, From: -time.Hour, To: time.Hour}}
			b.ends(a)
			b.observes()
		}},
		{"a session ends without a cause", "S3", func(b *build, a, _ *model.Session) { b.ends(a) }},
		{"a session ends after two resets", "S3", func(b *build, a, _ *model.Session) {
			b.h.Faults = resets(2)
			b.ends(a)
		}},
		{"and after three", "", func(b *build, a, _ *model.Session) {
			b.h.Faults = resets(3)
			b.ends(a)
		}},
		{"and after a lost reply", "", func(b *build, a, _ *model.Session) {
			b.h.Faults = []model.Fault{{Conn: 1, Silent: true}}
			b.ends(a)
		}},
		{"and while another link is broken", "S3", func(b *build, a, _ *model.Session) {
			b.h.Faults = []model.Fault{{Conn: 0, To: time.Hour}}
			b.ends(a)
		}},
		{"a call says so of a session that lives", "S2", func(b *build, a, _ *model.Session) { b.create(a, "0", "", lost) }},
		{"a node of an ended session", "C7", func(b *build, a, z *model.Session) {
			b.call(&model.Call{Op: model.Expire, Session: a, Conn: -1})
			b.observes(b.create(a, "0", "", uncertain))
		}},
		{"a call returns late", "B1", func(b *build, a, _ *model.Session) {
			c := b.begin(&model.Call{Op: model.List, Session: a, Ctx: context.Canceled, Err: canceled})
			b.stamp += 1000
			b.end(c).CtxEnd = c.BeginAt
		}},
		{"a call without its ctx's error", "E1", func(b *build, a, _ *model.Session) {
			c := b.call(&model.Call{Op: model.List, Session: a, Ctx: context.Canceled, Err: unavailable})
			c.CtxEnd = c.BeginAt
		}},
		{"a call with another's", "E3", func(b *build, a, _ *model.Session) { b.create(a, "0", "", canceled) }},
		{"an error of two kinds", "E2", func(b *build, a, _ *model.Session) {
			b.create(a, "0", "", errors.Join(uncertain, unavailable))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBuild()
			c.happens(b, b.session("A"), b.session("Z"))
			switch found := model.Judge(&b.h); {
			case c.rule == "" && len(found) > 0:
				t.Errorf("%v", found)
			case c.rule != "" && (len(found) == 0 || found[0].Rule != c.rule):
				t.Errorf("%v; want %s", found, c.rule)
			}
		})
	}
}

func (b *build) shows(watch *model.Call, nodes ...model.Node) {
	stamp, _ := b.tick()
	watch.States = append(watch.States, model.State{Stamp: stamp, Nodes: nodes})
}

// resets are faults of the link of the first connection.
func resets(n int) []model.Fault {
	return slices.Repeat([]model.Fault{{Conn: 1, Breaks: true}}, n)
}
