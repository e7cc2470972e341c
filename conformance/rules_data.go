package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"sync"

	"github.com/coordkit/coordkit/coord/driver"
)

func dataRules() []Rule {
	return []Rule{
		{
			ID:   "C8",
			Text: "Any data up to MaxData is kept exactly; more is ErrInvalid and nothing is written.",
			Cases: []Case{
				{Name: "created", Check: keepsCreated},
				{Name: "updated", Check: keepsUpdated},
				{Name: "caller's slice", Check: keepsNoSlice},
				{Name: "what was returned", Check: changesNoAnswer},
				{Name: "too long", Check: refusesTooLong},
			},
		},
	}
}

// samples are data that a careless encoding would change. No data and empty
// data are the same.
func samples() map[string][]byte {
	most := bytes.Repeat(everyByte(), driver.MaxData/256)
	all := map[string][]byte{
		"nil":                 nil,
		"one zero byte":       {0},
		"white space":         []byte(" a \n"),
		"JSON":                []byte(`{"a":"\u0000","b":[]}`),
		"every byte":          everyByte(),
		"invalid UTF-8":       []byte("a\xff\xc0\x80b"),
		"gzip":                []byte("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"),
		"zstd":                []byte("\x28\xb5\x2f\xfd\x24\x00"),
		"base64":              []byte("YWJjZA=="),
		"hex":                 []byte("0x6162"),
		"null":                []byte("null"),
		"UTF-8 BOM":           []byte("\xef\xbb\xbfa"),
		"MaxData minus one":   most[1:],
		"MaxData white space": bytes.Repeat([]byte("\n"), driver.MaxData),
	}
	for _, data := range sizes() {
		all[fmt.Sprint(len(data), " bytes")] = data
	}
	return all
}

func everyByte() []byte {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	return every
}

// sizes are data of all lengths at which an encoding may go another way, with all byte
// values in them. Nobody writes to them.
var sizes = sync.OnceValue(func() (all [][]byte) {
	for i, n := range []int{0, 1, 2, 3, 4, 7, 8, 15, 16, 63, 64, 100, 127, 128, 255, 256, 1000, 4096, driver.MaxData} {
		data := make([]byte, n)
		for j := range data {
			data[j] = byte(i*41 + j*7)
		}
		all = append(all, data)
	}
	return all
})

// sameData reports whether a node is shown with the data: where lists are by name, it may
// be shown without.
func (t *Trial) sameData(shown, data []byte) bool {
	return bytes.Equal(shown, data) || t.noData.Load() && len(shown) == 0
}

// someData is what a node gets where the case does not matter what it is: small, so that
// no case takes longer for it.
func (t *Trial) someData() []byte {
	few := sizes()[:12]
	return few[int(t.given.Add(1))*5%len(few)]
}

// seen looks at the data of a node from everywhere. Whether it is listed is for L1.
func (t *Trial) seen(s driver.Session, n driver.Node, name string, want []byte) {
	for who, list := range t.lists(s) {
		var m driver.Node
		listed := t.comes(t.patience(), func() error {
			var ok bool
			if m, ok = find(list(dir), n); !ok {
				return errors.New("not listed")
			}
			return nil
		})
		if !listed {
			t.NotVerified("%s does not show %s, which L1 is about", who, show(n))
		}
		t.Eventually(t.patience(), func() error {
			if now, ok := find(list(dir), n); ok {
				m = now
			}
			if !t.sameData(m.Data, want) {
				return fmt.Errorf("%s (%s) is shown by %s as %s", name, excerpt(want), who, excerpt(m.Data))
			}
			return nil
		})
	}
}

// list is Session.List and insists as the layers above a driver do.
func (t *Trial) list(s driver.Session, dir string) (nodes []driver.Node) {
	t.insist(s, "Session.List "+dir, func() (err error) {
		nodes, err = t.listOnce(t.ctx, s, dir)
		return err
	})
	return nodes
}

// excerpt shows data that may be long.
func excerpt(data []byte) string {
	return fmt.Sprintf("%d bytes, %.60q", len(data), data)
}

func keepsCreated(t *Trial) {
	s := t.Session()
	id := 0
	for name, data := range samples() {
		var n driver.Node
		t.insist(s, "Create with "+name, func() (err error) {
			n, _, err = t.create(t.ctx, s, dir, fmt.Sprint(id), data)
			return err
		})
		if !bytes.Equal(n.Data, data) {
			t.Fatalf("Create with %s (%s) returned a node with %s", name, excerpt(data), excerpt(n.Data))
		}
		t.seen(s, n, name+", given to Create", data)
		id++
	}
}

func keepsUpdated(t *Trial) {
	s := t.Session()
	n := t.Create(s, dir, "0", []byte("at first")...)
	for name, data := range samples() {
		m := t.Update(s, n, data...)
		if !bytes.Equal(m.Data, data) {
			t.Fatalf("Update with %s (%s) returned a node with %s", name, excerpt(data), excerpt(m.Data))
		}
		t.seen(s, m, name+", given to Update", data)
	}
}

// keepsNoSlice changes what it gave after it was acknowledged: the caller's slice is the
// caller's again.
func keepsNoSlice(t *Trial) {
	s := t.Session()
	n := t.Create(s, dir, "updated")
	for i, want := range sizes()[1:] {
		keeps := func(call string, write func(data []byte) (driver.Node, error)) {
			data := bytes.Clone(want)
			var m driver.Node
			t.insist(s, call, func() (err error) { m, err = write(data); return err })
			for j := range data {
				data[j] ^= 0xff
			}
			if !bytes.Equal(m.Data, want) {
				t.Fatalf("what %s returned shares memory with the data that it was given: the caller wrote over those, and the node's %s are now %s",
					call, excerpt(want), excerpt(m.Data))
			}
			t.seen(s, m, "data that the caller of "+call+" wrote over later", want)
		}
		keeps("Create", func(data []byte) (driver.Node, error) {
			n, _, err := t.create(t.ctx, s, dir, fmt.Sprint(i), data)
			return n, err
		})
		keeps("Update", func(data []byte) (driver.Node, error) { return s.Update(t.ctx, n, data) })
	}
}

func refusesTooLong(t *Trial) {
	t.Bystander(dir)
	s := t.Session()
	stands := t.Create(s, dir, "1", []byte("data")...)
	long := make([]byte, driver.MaxData+1)
	for _, id := range []string{"0", "1"} {
		if n, _, err := t.create(t.ctx, s, dir, id, long); !errors.Is(err, driver.ErrInvalid) {
			t.Fatalf("Create with %d bytes returned %s and %s; want ErrInvalid", len(long), show(n), errorOf(err))
		}
	}
	if _, err := s.Update(t.ctx, stands, long); !errors.Is(err, driver.ErrInvalid) {
		t.Fatalf("Update with %d bytes returned %s; want ErrInvalid", len(long), errorOf(err))
	}
	t.seen(s, stands, "data that a refused Create and a refused Update left", []byte("data"))
	t.settles(t.none(s, dir, "0"))
}

// answer is what a call returned, and a copy of it.
type answer struct {
	call       string
	nodes, was []driver.Node
}

// answers are kept to see whether later calls write over them.
type answers []answer

func (a *answers) keep(call string, nodes ...driver.Node) {
	was := make([]driver.Node, len(nodes))
	for i, n := range nodes {
		n.Data = bytes.Clone(n.Data)
		was[i] = n
	}
	*a = append(*a, answer{call, nodes, was})
}

// unchanged fails the trial if one has changed since it was returned.
func (a *answers) unchanged(t *Trial, later string) {
	for _, it := range *a {
		for i, n := range it.nodes {
			if was := it.was[i]; !n.Same(was) || n.ID != was.ID || n.Seq != was.Seq || !bytes.Equal(n.Data, was.Data) {
				t.Fatalf("what %s returned has changed after a later call of %s: %s with %s was %s with %s",
					it.call, later, show(n), excerpt(n.Data), show(was), excerpt(was.Data))
			}
		}
	}
}

// changesNoAnswer makes calls of all kinds, with data of the same lengths, and looks
// whether one of them writes over what an earlier one returned.
func changesNoAnswer(t *Trial) {
	c := t.Open()
	s := t.SessionOn(c)
	var kept answers
	for i, size := range []int{100, 3, 100, 3, 100} {
		data := bytes.Repeat([]byte{byte('a' + i)}, size)
		n, nodes := t.enter(s, dir, fmt.Sprint(i%2), data...)
		kept.keep("Create", n)
		kept.keep("Create, as a list,", nodes...)
		kept.unchanged(t, "Create")
		m := t.Update(s, n, bytes.ToUpper(data)...)
		kept.keep("Update", m)
		kept.unchanged(t, "Update")
		for _, source := range t.plainSources(c, s) {
			kept.keep(source.call, source.list()...)
			kept.unchanged(t, source.call)
		}
		if i%2 == 1 {
			t.Delete(s, m)
			kept.unchanged(t, "Delete")
		}
	}
}
