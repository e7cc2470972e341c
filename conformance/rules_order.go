package conformance

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/coordkit/coordkit/coord/driver"
)

func orderRules() []Rule {
	return []Rule{
		{
			ID:   "O1",
			Text: "Seq is the order of creation, also across the wrap of a store's counter.",
			Cases: []Case{
				{Name: "several sessions", Check: func(t *Trial) { t.seqRises(60) }},
				{Name: "across the wrap", Needs: NeedNearWrap, Check: seqWraps},
			},
		},
		{
			ID:   "O2",
			Text: "Token rises from node to node over the store's life, also over a removed directory.",
			Cases: []Case{
				{Name: "several sessions", Check: tokenRises},
				{Name: "directory removed", Needs: NeedRemoveDir, Check: tokenOutlivesDir},
				{Name: "directory of a crowd removed", Needs: NeedRemoveDir, Check: tokenOutlivesCrowd},
			},
		},
	}
}

// seqRises creates nodes one after another, by sessions in turn, and keeps them.
func (t *Trial) seqRises(count int) {
	sessions := []driver.Session{t.Session(), t.Session(), t.Session()}
	var last driver.Node
	for i := range count {
		n := t.Create(sessions[i%len(sessions)], dir, fmt.Sprint(i))
		if i > 0 && n.Seq <= last.Seq {
			t.Fatalf("%s was created after %s, and has no greater Seq", show(n), show(last))
		}
		last = n
	}
}

func seqWraps(t *Trial) {
	if err := t.h.NearWrap(t.ctx, t.namespace, dir); err != nil {
		t.NotVerified("bringing the counter near its wrap: %v", err)
	}
	t.seqRises(24)
}

// riser checks tokens one after the other.
type riser struct{ last driver.Node }

func (r *riser) next(t *Trial, n driver.Node) {
	if n.Token <= r.last.Token {
		t.Fatalf("%s was created after %s, and has no greater Token", show(n), show(r.last))
	}
	r.last = n
}

func tokenRises(t *Trial) {
	var r riser
	for range 3 { // sessions come and go, and the directory is empty in between
		a, b := t.Session(), t.Session()
		for i := range 8 {
			n := t.Create(a, dir, fmt.Sprint(i%2))
			r.next(t, n)
			r.next(t, t.Create(b, dir, fmt.Sprint(i)))
			t.Delete(a, n)
		}
		_, _ = a.Close(t.ctx), b.Close(t.ctx) // what it owes is for S5
	}
}

func tokenOutlivesDir(t *Trial) {
	var r riser
	for range 3 {
		s := t.Session() // which has not seen the directory before
		for i := range 4 {
			r.next(t, t.Create(s, dir, fmt.Sprint(i)))
		}
		t.removeDir(dir)
	}
	r.next(t, t.Create(t.Session(), dir, "0"))
}

// tokenOutlivesCrowd has one session make and delete many nodes at a time, which a
// driver may do with few requests, before the directory goes.
func tokenOutlivesCrowd(t *Trial) {
	s := t.Session()
	t.Create(s, dir, "first")
	crowd := make([]driver.Node, 96)
	together := func(do func(i int)) {
		var done []<-chan struct{}
		for i := range crowd {
			done = append(done, t.Go(func() { do(i) }))
		}
		t.join("one of many calls", done...)
	}
	together(func(i int) { crowd[i] = t.Create(s, dir, fmt.Sprint(i)) })
	slices.SortFunc(crowd, func(a, b driver.Node) int { return cmp.Compare(a.Seq, b.Seq) })
	var r riser
	for _, n := range crowd {
		r.next(t, n)
	}
	together(func(i int) { t.Delete(s, crowd[i]) })
	t.removeDir(dir)
	r.next(t, t.Create(t.Session(), dir, "0"))
}
