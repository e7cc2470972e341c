package mem

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
)

// The line agrees with a plain slice whatever is done to it, and no line that was
// given out ever changes.
func TestLineAgreesWithAModel(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 0))
		d := &directory{nodes: make(map[uint64]*node)}
		var model []*node
		type look struct{ got, want []driver.Node }
		var looks []look
		var seq uint64
		for step := range 1500 {
			grow := 4 + 3*(step/500%2) // by turns growing and shrinking
			switch what := r.IntN(12); {
			case what < grow:
				seq++
				n := &node{Node: driver.Node{Key: fmt.Sprint("k", seq), Seq: seq, Token: seq}}
				d.add(n)
				model = append(model, n)
			case what < 8 && len(model) > 0:
				i := 0 // mostly the head, as in a waiting line
				if r.IntN(3) == 0 {
					i = r.IntN(len(model))
				}
				d.remove(model[i])
				model = slices.Delete(model, i, i+1)
			case what < 9 && len(model) > 0:
				n := model[r.IntN(len(model))]
				n.Data = []byte{byte(step)}
				d.stale = true
			default:
				got := d.list()
				looks = append(looks, look{got, slices.Clone(got)})
				same := slices.EqualFunc(got, model, func(m driver.Node, n *node) bool {
					return m.Same(n.Node) && string(m.Data) == string(n.Data)
				})
				if !same {
					t.Fatalf("seed %d, step %d: %v; want %d nodes", seed, step, got, len(model))
				}
			}
			if len(d.line) > 2*len(model)+1 {
				t.Fatalf("seed %d, step %d: the line has %d places for %d nodes", seed, step, len(d.line), len(model))
			}
		}
		for _, l := range looks {
			for i := range l.want {
				if !l.got[i].Same(l.want[i]) || string(l.got[i].Data) != string(l.want[i].Data) {
					t.Fatalf("seed %d: a line that was given out changed", seed)
				}
			}
		}
	}
}

func TestListsShareTheirMemory(t *testing.T) {
	d := &directory{nodes: make(map[uint64]*node)}
	var nodes []*node
	for i := range uint64(100) {
		nodes = append(nodes, &node{Node: driver.Node{Token: i}})
		d.add(nodes[i])
	}
	first := d.list()
	second := d.list()
	d.remove(nodes[0])
	third := d.list()
	if &first[0] != &second[0] || &first[1] != &third[0] {
		t.Error("the line was copied though it only lost its head")
	}
	if extended := append(third, driver.Node{}); &extended[0] == &third[0] {
		t.Error("a caller that appends writes into the shared line")
	}
}
