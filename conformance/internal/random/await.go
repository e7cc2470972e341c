package random

import (
	"fmt"
	"slices"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/model"
	"github.com/coordkit/coordkit/coord/driver"
)

// waited wants waits for what is gone to have returned.
func (r *run) waited(final []*model.Call) {
	there := make(map[string]uint64)
	for _, c := range final {
		if c.Err != nil {
			return
		}
		for _, n := range c.List {
			there[n.Dir+" "+n.Key] = n.Token
		}
	}
	for _, c := range r.calls() {
		if c.Op != model.WaitDelete && c.Op != model.WaitAny {
			continue
		}
		for _, n := range c.Nodes {
			if there[n.Dir+" "+n.Key] == n.Token {
				continue
			}
			if !r.until(patience, func() bool { return r.hasEnded(c) }) {
				if over(r.bySession(c.Session)) {
					c.Lacks = "W4"
				}
				c.Missing = fmt.Sprintf("%v after %s was gone, and nothing was wrong any more, it has not returned", patience, r.h.Show(n))
			}
			break
		}
	}
}

func (r *run) bySession(s *model.Session) driver.Session {
	for _, known := range r.known() {
		if known.record == s {
			return known
		}
	}
	return nil
}

// patience is what is waited for what must happen soon. Only what is broken takes as
// long.
const patience = 10 * time.Second

func (r *run) hasEnded(c *model.Call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return c.End != 0
}

// watched wants watches to show what is there.
func (r *run) watched(final []*model.Call) {
	for _, c := range r.calls() {
		if c.Op != model.Watch {
			continue
		}
		for dir, f := range final {
			if c.Dir != r.dir(Step{Dir: dir}) || f.Err != nil {
				continue
			}
			if !r.until(patience, func() bool { return r.hasEnded(c) || r.showsLast(c, f.List) }) {
				c.Missing = fmt.Sprintf("%v after the last change it does not show %s", patience, r.showAll(f.List))
			}
		}
	}
}

func (r *run) showsLast(c *model.Call, want []model.Node) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(c.States) == 0 {
		return false
	}
	return slices.Equal(c.States[len(c.States)-1].Nodes, want)
}

func (r *run) showAll(nodes []model.Node) string {
	if len(nodes) == 0 {
		return "the empty directory"
	}
	text := ""
	for i, n := range nodes {
		if i > 0 {
			text += ", "
		}
		text += r.h.Show(n) + " with " + n.Data.String()
	}
	return text
}
