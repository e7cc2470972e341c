package model_test

import (
	"fmt"

	"github.com/coordkit/coordkit/conformance/internal/model"
)

// A wait ends, and nothing has removed the node that it was for.
func Example() {
	a := &model.Session{Name: "A", ID: "s1"}
	n := model.Node{Dir: "q", ID: "0", Key: "q/s1-0", Session: "s1", Seq: 1, Token: 1}
	h := &model.History{
		Sessions: []*model.Session{a},
		Calls: []*model.Call{
			{Name: "#1", Op: model.Create, Session: a, Dir: "q", ID: "0", Node: n, Begin: 2, End: 4},
			{Name: "#2", Op: model.WaitDelete, Session: a, Dir: "q", Nodes: []model.Node{n}, Begin: 6, End: 8},
		},
	}
	for _, v := range model.Judge(h) {
		fmt.Println(v)
	}
	// Output:
	// W2 is broken by #2: it returned nil, and nothing had removed A's "0" (seq 1, token 1)
}
