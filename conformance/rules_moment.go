package conformance

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/coordkit/coordkit/coord/driver"
)

// momentCases are lines that move while somebody looks: a list of one shows a
// state that the line was in, and not some of one and the rest of another.
func momentCases() []Case {
	return []Case{
		{Name: "one in place of another", Check: func(t *Trial) { listsMoments(t, 1) }},
		{Name: "a line that moves on", Check: func(t *Trial) { listsMoments(t, 6) }},
	}
}

const momentSlots = 10

// listsMoments lists a line all the time, while its writer makes the next node
// before it deletes the oldest. So the line always is of the given length or one
// more, and without a gap; a list may lag behind (L3), and still shows such a
// state.
func listsMoments(t *Trial, length int) {
	const steps = 120
	writer, reader := t.Session(), t.Session()
	var line []driver.Node // as it is
	add := func(number int) {
		// A slot is used again when its node is long gone. Its digits are in no
		// order, as a store's names are.
		id := strconv.Itoa(number * 7 % momentSlots)
		line = append(line, t.Create(writer, dir, id, strconv.AppendInt(nil, int64(number), 10)...))
	}
	for number := range length {
		add(number)
	}
	lists := t.lists(reader)
	for who, list := range lists {
		if !t.comes(t.patience(), func() error { return t.momentOf(who, list(dir), length) }) {
			t.NotVerified("%s does not show the line before it moves, which other cases are about", who)
		}
	}
	moving := t.Go(func() {
		for step := range steps {
			add(length + step)
			t.Delete(writer, line[0])
			line = line[1:]
			if step%5 == 0 {
				t.pause()
			}
		}
	})
	var looking []<-chan struct{}
	for who, list := range lists {
		looking = append(looking, t.Go(func() {
			for looks := 0; !ended(moving) && t.ctx.Err() == nil; looks++ {
				if err := t.momentOf(who, list(dir), length); err != nil {
					t.Fatalf("%v", err)
				}
				if looks%5 == 0 {
					t.pause()
				}
			}
		}))
	}
	for !ended(moving) && t.ctx.Err() == nil {
		t.pause()
	}
	t.join("a list of a line that moves", looking...)
}

// momentOf returns an error unless a list is of the line at one moment: numbers
// without a gap, and as many as the line has, or one more while it moves.
func (t *Trial) momentOf(who string, nodes []driver.Node, length int) error {
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n driver.Node) bool { return n.ID == lookID })
	var last int // the number of the node before, modulo momentSlots, as all here
	gap := false
	for i, n := range nodes {
		id, err := strconv.Atoi(n.ID)
		number := id * 3 % momentSlots // what number*7 is undone by
		if data, problem := strconv.Atoi(string(n.Data)); !t.with.noData || len(n.Data) > 0 {
			gap = gap || problem != nil || data%momentSlots != number
		}
		gap = gap || err != nil || i > 0 && number != (last+1)%momentSlots
		last = number
	}
	if gap || !slices.Contains([]int{length, length + 1}, len(nodes)) {
		return fmt.Errorf("%s shows %s of a line of %d where the next is made before the oldest is deleted: "+
			"a state that never was", who, show(nodes...), length)
	}
	return nil
}
