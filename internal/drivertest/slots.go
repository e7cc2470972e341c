package drivertest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
)

// CreateAndAbandon creates and abandons several slots of one session in the directory "d"
// at the same time, so that each Abandon raises the fence under the other requests. In
// each round a slot is abandoned so many times. It returns the number of slots, each of
// which has a node at the end.
func CreateAndAbandon(t testing.TB, s driver.Session, times int) (slots int) {
	t.Helper()
	const count, rounds = 8, 10
	create := s.(driver.CreateLister).CreateList
	var wg sync.WaitGroup
	for slot := range count {
		wg.Go(func() {
			id := fmt.Sprint(slot)
			for round := range rounds {
				n, all, err := create(Within(t), "d", id, []byte(fmt.Sprint(round)))
				if err != nil {
					t.Errorf("create %s: %v", id, err)
					return
				}
				if !slices.ContainsFunc(all, n.Same) || string(n.Data) != fmt.Sprint(round) {
					t.Errorf("round %d of %s made %+v and listed %+v", round, id, n, all)
				}
				if round == rounds-1 {
					return
				}
				for range times {
					if err := s.Abandon(Within(t), "d", id); err != nil {
						t.Errorf("abandon %s: %v", id, err)
					}
				}
			}
		})
	}
	wg.Wait()
	return count
}
