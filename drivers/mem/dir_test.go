package mem

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
)

// The line agrees with a plain slice whatever is done to it, and no snapshot
// ever changes.
func TestLineAgreesWithAModelAndSnapshotsNeverChange(t *testing.T) {
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 0))
		d := &dir{}
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
				d.changed()
			default:
				got := d.snapshot()
				looks = append(looks, look{got, slices.Clone(got)})
				if len(got) != len(model) || d.empty() != (len(model) == 0) {
					t.Fatalf("seed %d, step %d: %d nodes; want %d", seed, step, len(got), len(model))
				}
				for i, n := range model {
					if !got[i].Same(n.Node) || string(got[i].Data) != string(n.Data) {
						t.Fatalf("seed %d, step %d: %+v at %d; want %+v", seed, step, got[i], i, n.Node)
					}
					if d.find(n.Key, n.Token) != n {
						t.Fatalf("seed %d, step %d: %s is not found", seed, step, n.Key)
					}
				}
				if len(model) > 0 {
					if n := model[r.IntN(len(model))]; d.named(n.Key) != n {
						t.Fatalf("seed %d, step %d: %s is not found by its key", seed, step, n.Key)
					}
				}
				if (len(model) == 0 || model[0].Token != 1) && (d.find("k1", 1) != nil || d.named("k1") != nil) {
					t.Fatalf("seed %d, step %d: a gone node is found", seed, step)
				}
			}
			if waste := len(d.nodes) - len(model); waste > 2*len(model)+2 {
				t.Fatalf("seed %d, step %d: %d places wasted for %d nodes", seed, step, waste, len(model))
			}
		}
		for _, l := range looks {
			for i := range l.want {
				if !l.got[i].Same(l.want[i]) || string(l.got[i].Data) != string(l.want[i].Data) {
					t.Fatalf("seed %d: a snapshot changed", seed)
				}
			}
		}
	}
}

func TestSnapshotsShareTheirMemory(t *testing.T) {
	d := &dir{}
	for i := range uint64(100) {
		d.add(&node{Node: driver.Node{Token: i}})
	}
	first := d.snapshot()
	second := d.snapshot()
	d.remove(d.nodes[d.head])
	third := d.snapshot()
	if &first[0] != &second[0] || &first[1] != &third[0] {
		t.Error("a snapshot was copied though the line only lost its head")
	}
	if extended := append(third, driver.Node{}); &extended[0] == &third[0] {
		t.Error("a caller that appends writes into the shared line")
	}
}
