package conformance

import (
	"bytes"
	"errors"
	"fmt"

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
				{Name: "too long", Check: refusesTooLong},
			},
		},
	}
}

// samples are data that a careless encoding would change. No data and empty
// data are the same.
func samples() map[string][]byte {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	most := bytes.Repeat(every, driver.MaxData/len(every))
	return map[string][]byte{
		"no data":             nil,
		"one zero byte":       {0},
		"white space":         []byte(" a \n"),
		"JSON":                []byte(`{"a":"\u0000","b":[]}`),
		"every byte":          every,
		"invalid UTF-8":       []byte("a\xff\xc0\x80b"),
		"MaxData bytes":       most,
		"MaxData minus one":   most[1:],
		"MaxData white space": bytes.Repeat([]byte("\n"), driver.MaxData),
	}
}

// kept looks at the data of a node from everywhere.
func (t *Trial) kept(s driver.Session, n driver.Node, name string, want []byte) {
	if !bytes.Equal(n.Data, want) {
		t.Fatalf("%s (%d bytes) came back as %s", name, len(want), excerpt(n.Data))
	}
	for who, list := range map[string]func() []driver.Node{
		"a third client": func() []driver.Node { return t.Nodes(dir) },
		"the session":    func() []driver.Node { return t.list(s, dir) },
	} {
		t.Eventually(t.patience(), func() error {
			if m, ok := find(list(), n); !ok || !bytes.Equal(m.Data, want) {
				return fmt.Errorf("%s (%d bytes) is seen by %s as %s", name, len(want), who, excerpt(m.Data))
			}
			return nil
		})
	}
}

// list is Session.List and insists as the layers above a driver do.
func (t *Trial) list(s driver.Session, dir string) (nodes []driver.Node) {
	t.insist(s, "Session.List "+dir, func() (err error) {
		nodes, err = s.List(t.ctx, dir)
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
		t.kept(s, t.Create(s, dir, fmt.Sprint(id), data...), name, data)
		id++
	}
}

func keepsUpdated(t *Trial) {
	s := t.Session()
	n := t.Create(s, dir, "0", []byte("at first")...)
	for name, data := range samples() {
		n = t.Update(s, n, data...)
		t.kept(s, n, name, data)
	}
}

// keepsNoSlice changes what it gave after it was acknowledged.
func keepsNoSlice(t *Trial) {
	s := t.Session()
	data := []byte("data")
	n, err := s.Create(t.ctx, dir, "0", data)
	if err != nil {
		t.Fatalf("Create: %v", err)
	}
	data[0] = 'X'
	t.kept(s, n, "data that the caller changed later", []byte("data"))
	data = []byte("more")
	if n, err = s.Update(t.ctx, n, data); err != nil {
		t.Fatalf("Update: %v", err)
	}
	data[0] = 'X'
	t.kept(s, n, "data that the caller changed later", []byte("more"))
}

func refusesTooLong(t *Trial) {
	t.Bystander(dir)
	s := t.Session()
	long := make([]byte, driver.MaxData+1)
	if n, err := s.Create(t.ctx, dir, "0", long); !errors.Is(err, driver.ErrInvalid) {
		t.Fatalf("Create with %d bytes returned %s and %s; want ErrInvalid", len(long), show(n), errorOf(err))
	}
	if f, ok := driver.As[driver.CreateLister](s); ok {
		if n, _, err := f.CreateList(t.ctx, dir, "0", long); !errors.Is(err, driver.ErrInvalid) {
			t.Fatalf("CreateList with %d bytes returned %s and %s; want ErrInvalid", len(long), show(n), errorOf(err))
		}
	}
	n := t.Create(s, dir, "1", []byte("data")...)
	if _, err := s.Update(t.ctx, n, long); !errors.Is(err, driver.ErrInvalid) {
		t.Fatalf("Update with %d bytes returned %s; want ErrInvalid", len(long), errorOf(err))
	}
	t.kept(s, n, "data that a refused Update left", []byte("data"))
	t.settles(t.none(s, dir, "0"))
}
