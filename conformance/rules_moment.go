package conformance

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
)

// momentCases are lines that move while somebody looks: a list of one shows a
// state that the line was in, and not some of one and the rest of another.
func momentCases() []Case {
	return []Case{
		{Name: "one in place of another", Check: func(t *Trial) { listsMoments(t, 1) }},
		{Name: "a line that moves on", Check: func(t *Trial) { listsMoments(t, 6) }},
		{Name: "data of the same moment", Check: listsDataOfTheMoment},
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
	t.whileMoving(lists, steps, func(step int) {
		add(length + step)
		t.Delete(writer, line[0])
		line = line[1:]
	}, func(who string, nodes []driver.Node) error { return t.momentOf(who, nodes, length) })
}

// whileMoving makes steps, one after the other, while each of the lists is made all the
// time and checked.
func (t *Trial) whileMoving(lists map[string]func(dir string) []driver.Node, steps int, move func(step int), check func(who string, nodes []driver.Node) error) {
	moving := t.Go(func() {
		for step := range steps {
			move(step)
			// At times of its own, so that on a store whose answers take no time steps
			// fall between the requests of a list.
			t.sleep(time.Duration(step%5) * t.h.TTL / 1500)
		}
	})
	var looking []<-chan struct{}
	for who, list := range lists {
		looking = append(looking, t.Go(func() {
			for looks := 0; !ended(moving) && t.ctx.Err() == nil; looks++ {
				if err := check(who, list(dir)); err != nil {
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

// listsDataOfTheMoment lists a line of which the first node is updated with the number
// of the node that was made just before, and the node made before that is deleted then. A
// list that shows a number holds the node of that number, or of the next.
func listsDataOfTheMoment(t *Trial) {
	const steps = 120
	writer, reader := t.Session(), t.Session()
	first := t.Create(writer, dir, "first", '0')
	latest := first
	var former driver.Node
	t.whileMoving(t.lists(reader), steps, func(step int) {
		var n driver.Node
		t.insist(writer, "Create", func() (err error) { // which no list slows down
			n, err = writer.Create(t.ctx, dir, strconv.Itoa(step), nil)
			return err
		})
		latest = t.Update(writer, latest, strconv.AppendInt(nil, int64(step), 10)...)
		if step > 0 {
			t.Delete(writer, former)
		}
		former = n
	}, func(who string, nodes []driver.Node) error {
		i := slices.IndexFunc(nodes, first.Same)
		if i < 0 || len(nodes[i].Data) == 0 { // not yet; or the list is one of names
			return nil
		}
		told := string(nodes[i].Data)
		for _, n := range nodes {
			number, err := strconv.Atoi(n.ID)
			if least, _ := strconv.Atoi(told); err == nil && number >= least && n.ID != lookID {
				return nil
			}
		}
		if told == "0" { // as it was created
			return nil
		}
		return fmt.Errorf("%s shows %s, of which the first was updated to %s after node %s had been made: "+
			"a state that never was", who, show(nodes...), told, told)
	})
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
		if data, problem := strconv.Atoi(string(n.Data)); !t.noData.Load() || len(n.Data) > 0 {
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
