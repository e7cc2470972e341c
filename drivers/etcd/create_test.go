package etcd

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coordkit/coordkit/coord/driver"
)

func TestCreateListGivesWhatListGives(t *testing.T) {
	f := start(t)
	s, other := f.open(time.Minute), f.open(time.Minute)
	for i := range 5 {
		f.create(other, "d", fmt.Sprint(9-i)) // the order of keys is not that of creation
	}
	for _, key := range []string{"readme", "zz-0", "7ad0000000000bcd-0", "sub/7ad0000000000bcd-0"} {
		_, err := f.admin.Put(within(t), f.dir("d").from+key, "foreign")
		must(t, err)
	}
	f.create(other, "dd", "0")
	n, all, err := s.CreateList(within(t), "d", "0", []byte("mine"))
	must(t, err)
	listed, err := s.List(within(t), "d")
	must(t, err)
	observed, err := f.conn.List(within(t), "d")
	must(t, err)
	if len(all) != 6 || !all[5].Same(n) || string(all[5].Data) != "mine" || all[5].Version != n.Version {
		t.Fatalf("created %+v, listed %+v", n, all)
	}
	same := func(a, b driver.Node) bool { return a.Same(b) && bytes.Equal(a.Data, b.Data) && a.Session == b.Session }
	if !slices.EqualFunc(all, listed, same) || !slices.EqualFunc(all, observed, same) {
		t.Errorf("CreateList gave %+v, List %+v, Conn.List %+v", all, listed, observed)
	}
	if !slices.IsSortedFunc(all, func(a, b driver.Node) int { return int(a.Seq) - int(b.Seq) }) {
		t.Errorf("not in the order of Seq: %+v", all)
	}
	for i, want := range []string{"9", "8", "7", "6", "5", "0"} {
		if all[i].ID != want {
			t.Errorf("node %d is %q; want %q", i, all[i].ID, want)
		}
	}
	_, err = f.admin.Delete(within(t), f.dir("d").from, clientv3.WithPrefix())
	must(t, err)
}

func TestMissingDirectoryIsEmpty(t *testing.T) {
	f := start(t)
	nodes, err := f.conn.List(within(t), "d")
	must(t, err)
	if len(nodes) != 0 {
		t.Errorf("listed %v", nodes)
	}
	f.wantKeys("d", 0)
}

func TestCreateAfterALostReply(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	f.loseReply()
	_, err := s.Create(within(t), "d", "0", []byte("first"))
	wantIs(t, err, driver.ErrUncertain)
	there, err := f.conn.List(within(t), "d")
	must(t, err)
	n, err := s.Create(within(t), "d", "0", []byte("second"))
	must(t, err)
	if len(there) != 1 || !n.Same(there[0]) || string(n.Data) != "first" {
		t.Errorf("got %+v; want what the lost reply told of, %+v", n, there)
	}
	again, all, err := s.CreateList(within(t), "d", "0", nil)
	must(t, err)
	if !again.Same(n) || len(all) != 1 || !all[0].Same(n) {
		t.Errorf("then got %+v and %+v", again, all)
	}
	f.wantKeys("d", 1)
}

func TestCreateAfterDelete(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	first, other := f.create(s, "d", "0"), f.create(s, "d", "1")
	must(t, s.Delete(within(t), first))
	second := f.create(s, "d", "0")
	if second.Key != first.Key || second.Same(first) || second.Seq <= other.Seq || second.Token <= other.Token {
		t.Errorf("after %+v and %+v came %+v", first, other, second)
	}
}

func TestTokensRiseOverAnEmptyDirectory(t *testing.T) {
	f := start(t)
	var last uint64
	for range 3 {
		s := f.open(time.Minute)
		n := f.create(s, "d", "0")
		if n.Token <= last {
			t.Errorf("token %d after %d", n.Token, last)
		}
		last = n.Token
		must(t, s.Close(within(t)))
		f.wantKeys("d", 0)
	}
}

func TestDataIsKeptExactly(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	data := make([]byte, driver.MaxData)
	for i := range data {
		data[i] = byte(i * 7)
	}
	n, err := s.Create(within(t), "d", "0", data)
	must(t, err)
	want := bytes.Clone(data)
	data[0]++ // the caller may use its own again
	all, err := s.List(within(t), "d")
	must(t, err)
	if !bytes.Equal(n.Data, want) || !bytes.Equal(all[0].Data, want) {
		t.Error("the data has changed")
	}
	sent := f.tap.during(func() {
		_, err := s.Create(within(t), "d", "1", make([]byte, driver.MaxData+1))
		wantIs(t, err, driver.ErrInvalid)
		_, err = s.Update(within(t), n, make([]byte, driver.MaxData+1))
		wantIs(t, err, driver.ErrInvalid)
	})
	if len(sent) > 0 {
		t.Errorf("sent %v with too much data", sent)
	}
}

// What stands under a session's name without being bound to its lease is not
// its node, and Abandon clears it away.
func TestNameTakenBySomebodyElse(t *testing.T) {
	f := start(t)
	s, other := f.open(time.Minute), f.open(time.Minute)
	key := f.node("d", s.id, "0")
	_, err := f.admin.Put(within(t), key, "foreign", clientv3.WithLease(clientv3.LeaseID(other.id)))
	must(t, err)
	_, err = s.Create(within(t), "d", "0", nil)
	if err == nil || driver.Transient(err) {
		t.Fatalf("created over another's key: %v", err)
	}
	nodes, err := s.List(within(t), "d")
	must(t, err)
	if len(nodes) != 0 {
		t.Errorf("listed %+v", nodes)
	}
	must(t, s.Abandon(within(t), "d", "0"))
	f.create(s, "d", "0")
	f.wantKeys("d", 1)
}
