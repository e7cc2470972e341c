package zk

import (
	"encoding/binary"
	"errors"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"

	gozk "github.com/go-zookeeper/zk"

	"github.com/coordkit/coordkit/coord/driver"
)

// A code that nobody knows says nothing about the effect.
func TestErrorOf(t *testing.T) {
	for code, want := range map[int32]error{
		0: nil, -101: nil, -102: driver.ErrDenied, -112: driver.ErrSessionLost,
		-116: driver.ErrUncertain, -118: driver.ErrUncertain, -4: driver.ErrUncertain, -9999: driver.ErrUncertain,
	} {
		err := errorOf(code)
		if (err == nil) != (code == 0) {
			t.Errorf("%d: %v", code, err)
		}
		if got := kindOf(err, true); code != 0 && got != want {
			t.Errorf("%d: %v is %v; want %v", code, err, got, want)
		}
	}
}

// A transaction of which a part was refused was not done, whatever the code says.
func TestRefusal(t *testing.T) {
	quota := errors.New("unknown error: -125")
	parts := []gozk.MultiResponse{{Error: quota}, {Error: errors.New("unknown error: -2")}}
	for _, tt := range []struct {
		results []gozk.MultiResponse
		err     error
		want    error
	}{
		{parts, quota, nil},
		{parts, gozk.ErrNoAuth, driver.ErrDenied},
		{nil, gozk.ErrSessionExpired, driver.ErrSessionLost},
		{nil, quota, driver.ErrUncertain}, // of the request, and of no part
		{make([]gozk.MultiResponse, 2), gozk.ErrConnectionClosed, driver.ErrUncertain},
	} {
		err := refusal(tt.results, tt.err)
		if got := kindOf(err, true); !errors.Is(err, tt.err) || got != tt.want {
			t.Errorf("%v with %v: %v, which is %v; want %v", tt.err, tt.results, err, got, tt.want)
		}
	}
	if err := refusal(make([]gozk.MultiResponse, 2), nil); err != nil {
		t.Error(err)
	}
}

// answerOf is the answer to a request for the names in a directory.
func answerOf(names []string, stat gozk.Stat) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(names)))
	for _, n := range names {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(n))), n...)
	}
	long := func(n int64) { b = binary.BigEndian.AppendUint64(b, uint64(n)) }
	short := func(n int32) { b = binary.BigEndian.AppendUint32(b, uint32(n)) }
	long(stat.Czxid)
	long(stat.Mzxid)
	long(stat.Ctime)
	long(stat.Mtime)
	short(stat.Version)
	short(stat.Cversion)
	short(stat.Aversion)
	long(stat.EphemeralOwner)
	short(stat.DataLength)
	short(stat.NumChildren)
	long(stat.Pzxid)
	return b
}

func TestReadListing(t *testing.T) {
	stat := gozk.Stat{Czxid: 1 << 40, Mzxid: 2, Ctime: 3, Mtime: 4, Version: 5, Cversion: -6, Aversion: 7,
		EphemeralOwner: -8, DataLength: 9, NumChildren: 3, Pzxid: 10}
	for _, names := range [][]string{{}, {"a"}, {"first", "", strings.Repeat("third", 1000)}} {
		whole := answerOf(names, stat)
		ls, ok := readListing(whole)
		if !ok || ls.stat != stat || !slices.Equal(ls.names, names) {
			t.Errorf("read %v, %v; want %v with %v", ls, ok, names, stat)
		}
		for n := range whole {
			if ls, ok := readListing(whole[:n]); ok {
				t.Errorf("of %d bytes of %d read %v", n, len(whole), ls)
			}
		}
		if _, ok := readListing(append(whole, 0)); ok {
			t.Error("read an answer that is too long")
		}
	}
	for _, count := range []uint32{1 << 31, 1<<31 - 1, 1<<32 - 1} {
		if ls, ok := readListing(binary.BigEndian.AppendUint32(nil, count)); ok {
			t.Errorf("of %d names without any read %v", int32(count), ls)
		}
	}
}

func TestAsks(t *testing.T) {
	var a asks
	first, one := a.begin(1)
	second, two := a.begin(1)
	third, three := a.begin(1)
	a.answered(second, answer{body: []byte("2")})
	a.answered(second, answer{body: []byte("again")})
	a.answered(first, answer{code: -101})
	a.end(third, 1)
	a.answered(third, answer{})
	fourth, four := a.begin(1)
	a.close()
	a.answered(fourth, answer{})
	_, five := a.begin(1)
	for _, c := range []struct {
		to   <-chan answer
		want answer
	}{{one, answer{code: -101}}, {two, answer{body: []byte("2")}}, {four, answer{lost: true}}, {five, answer{lost: true}}} {
		if it := <-c.to; !reflect.DeepEqual(it, c.want) {
			t.Errorf("the answer is %v; want %v", it, c.want)
		}
	}
	select {
	case it := <-three:
		t.Errorf("whoever has gone is told %v", it)
	default:
	}
}

// The numbers of requests begin again before they are those of the library.
func TestAsksBeginAgain(t *testing.T) {
	a := asks{last: lastAsk + 3}
	for _, c := range []struct {
		n    int
		want int32
	}{{2, lastAsk + 2}, {2, firstAsk}, {1, firstAsk - 2}} {
		if first, _ := a.begin(c.n); first != c.want {
			t.Errorf("xid %d; want %d", first, c.want)
		}
	}
}

// A connection that breaks under a request for names is an error of a kind that is
// tried again, if it is one.
func TestNamesWhenTheConnectionBreaks(t *testing.T) {
	f := start(t)
	s := f.open(long)
	f.create(s, "d", "0")
	f.tap.intercept(func(c *tapped, op int32, _ []byte) bool {
		if op != opGetChildren2 {
			return false
		}
		f.tap.intercept(nil)
		_ = c.Close()
		return true
	})
	var nodes []driver.Node
	eventually(t, "a list by the next connection", func() bool {
		var err error
		nodes, err = s.ListNames(within(t), "d")
		if err != nil && !driver.Transient(err) {
			t.Fatal(err)
		}
		return err == nil
	})
	if len(nodes) != 1 {
		t.Errorf("listed %v", nodes)
	}
}

// A session that was shown a state of the store gets to no server that is behind
// that, though the library knows nothing of it.
func TestSeenByNames(t *testing.T) {
	f := start(t)
	other := f.peer()
	s, o := f.open(long), other.open(long)
	other.create(o, "d", "0")
	nodes, err := s.ListNames(within(t), "d")
	must(t, err)
	var broken net.Conn
	f.tap.intercept(func(c *tapped, op int32, _ []byte) bool {
		f.tap.intercept(nil)
		broken = c
		_ = c.Close()
		return true
	})
	eventually(t, "a list by the next connection", func() bool {
		_, err := s.List(within(t), "d")
		return err == nil && broken != nil
	})
	f.tap.mu.Lock()
	defer f.tap.mu.Unlock()
	if f.tap.seen < int64(nodes[0].Version) {
		t.Errorf("asked for the session with zxid %d; it had seen %d", f.tap.seen, nodes[0].Version)
	}
}
