package fence_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/fence"
)

// floorStore is a store with a floor. Requests whose reply is lost may land later.
type floorStore struct {
	floor uint64
	late  []func()
}

func (s *floorStore) request(r fence.Request, do func()) (floor uint64) {
	floor = s.floor
	if floor > r.Number {
		return floor
	}
	if r.Raise {
		s.floor = r.Number
	}
	do()
	return floor
}

// lose gives a request up that may land at any time later, or never.
func (s *floorStore) lose(r fence.Request, do func()) error {
	s.late = append(s.late, func() { s.request(r, do) })
	return driver.ErrUncertain
}

func (s *floorStore) land(rng *rand.Rand) {
	for _, i := range rng.Perm(len(s.late)) {
		s.late[i]()
	}
	s.late = nil
}

// posStore is a store with a key that has a version.
type posStore struct {
	version, at uint64
	late        []func()
}

func (s *posStore) request(at uint64, move bool, do func()) (now uint64, done bool) {
	if s.at != at {
		return s.at, false
	}
	if move {
		s.version++
		s.at = s.version
	}
	do()
	return s.at, true
}

func (s *posStore) lose(at uint64, move bool, do func()) error {
	s.late = append(s.late, func() { s.request(at, move, do) })
	return driver.ErrUncertain
}

func (s *posStore) land(rng *rand.Rand) {
	for _, i := range rng.Perm(len(s.late)) {
		s.late[i]()
	}
	s.late = nil
}

// Nothing that was given up has an effect after a later request was acknowledged, whatever
// is lost and lands when.
func TestLateRequestsDoNothing(t *testing.T) {
	type target interface {
		do(value int, raise, lose bool) error
		land(*rand.Rand)
		value() int
	}
	for name, start := range map[string]func() target{
		"numbers":  func() target { return new(byNumber) },
		"position": func() target { return new(byPosition) },
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(2000) {
				rng := rand.New(rand.NewPCG(seed, 1))
				x := start()
				acknowledged := -1
				for i := range 12 {
					err := x.do(i, rng.IntN(5) == 0, rng.IntN(2) == 0)
					switch {
					case err == nil:
						acknowledged = i
						x.land(rng)
						if x.value() != i {
							t.Fatalf("seed %d: %d was acknowledged, and then there is %d", seed, i, x.value())
						}
					case rng.IntN(3) == 0:
						x.land(rng)
						if x.value() < acknowledged {
							t.Fatalf("seed %d: %d is back after %d", seed, x.value(), acknowledged)
						}
					}
				}
			}
		})
	}
}

type byNumber struct {
	fence fence.Numbers
	floorStore
	v int
}

func (x *byNumber) value() int { return x.v }

func (x *byNumber) do(value int, raise, lose bool) error {
	return x.fence.Do(raise, func(r fence.Request) (uint64, error) {
		set := func() { x.v = value }
		if lose {
			return 0, x.lose(r, set)
		}
		return x.request(r, set), nil
	})
}

type byPosition struct {
	fence fence.Position
	posStore
	v int
}

func (x *byPosition) value() int { return x.v }

func (x *byPosition) do(value int, move, lose bool) error {
	return x.fence.Do(move, func(at uint64, move bool) (uint64, bool, error) {
		set := func() { x.v = value }
		if lose {
			return 0, false, x.lose(at, move, set)
		}
		now, done := x.request(at, move, set)
		return now, done, nil
	})
}

// A request that a concurrent one has overtaken is made again with a higher number.
func TestRefusedIsMadeAgain(t *testing.T) {
	var f fence.Numbers
	var s floorStore
	tries := 0
	err := f.Do(false, func(r fence.Request) (uint64, error) {
		if tries++; tries == 1 {
			if err := f.Do(true, func(r fence.Request) (uint64, error) { return s.request(r, func() {}), nil }); err != nil {
				t.Fatal(err)
			}
		}
		return s.request(r, func() {}), nil
	})
	if err != nil || tries != 2 {
		t.Errorf("%v after %d tries; want nil after 2", err, tries)
	}
}

// A request raises the floor if one before it is in doubt, and only then.
func TestRaises(t *testing.T) {
	var f fence.Numbers
	want := func(what string, raise bool, answer error) {
		t.Helper()
		_ = f.Do(false, func(r fence.Request) (uint64, error) {
			if r.Raise != raise {
				t.Errorf("%s: raises the floor: %v; want %v", what, r.Raise, raise)
			}
			return 0, answer
		})
	}
	want("the first", false, nil)
	want("the second", false, driver.ErrUnavailable)
	want("after one that had no effect", false, driver.ErrUncertain)
	want("after a lost reply", true, errors.New("refused"))
	want("after one that was refused", true, driver.ErrUncertain)
	want("after two lost replies", true, nil)
	want("after that was settled", false, nil)
}

// An operator deletes the floor. What it refused is in doubt again.
func TestFloorDeleted(t *testing.T) {
	var f fence.Numbers
	step := func(what string, raise bool, floor uint64, answer error) {
		t.Helper()
		_ = f.Do(false, func(r fence.Request) (uint64, error) {
			if r.Raise != raise {
				t.Errorf("%s: raises the floor: %v; want %v", what, r.Raise, raise)
			}
			return floor, answer
		})
	}
	step("lost", false, 0, driver.ErrUncertain) // 1
	step("the next", true, 0, nil)              // 2, the floor from now on
	step("with the floor", false, 2, nil)
	step("without the floor", false, 0, nil)
	step("after that", true, 0, nil)
	step("with a new floor", false, 5, nil)
}

// An operator deletes the key. What had asked for none is in doubt again.
func TestPositionDeleted(t *testing.T) {
	var f fence.Position
	step := func(what string, wantAt uint64, wantMove bool, now uint64, done bool) {
		t.Helper()
		first := true
		_ = f.Do(false, func(at uint64, move bool) (uint64, bool, error) {
			if !first {
				return 0, false, driver.ErrUnavailable
			}
			first = false
			if at != wantAt || move != wantMove {
				t.Errorf("%s: asks for %d, moves: %v; want %d, %v", what, at, move, wantAt, wantMove)
			}
			return now, done, nil
		})
	}
	step("the first", 0, false, 0, true)
	step("the second", 0, false, 7, false)
	step("moved by another call", 7, false, 0, false)
	step("deleted", 0, true, 9, true)
	step("made again", 9, false, 8, false)
	step("an older reply", 9, false, 9, true)
}
