package consul

import (
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"
)

func TestKeys(t *testing.T) {
	k := newKeyspace("my%20app/prod")
	for _, tt := range []struct{ got, want string }{
		{k.all(), "my=20app/prod/"},
		{k.dir("mutex:a%2Fb"), "my=20app/prod/mutex:a=2Fb/"},
		{k.node("d", someSession, "12"), "my=20app/prod/d/" + someSession + "-12"},
		{k.fence(someSession), "my=20app/prod/.fence/" + someSession},
	} {
		if tt.got != tt.want {
			t.Errorf("got %s; want %s", tt.got, tt.want)
		}
	}
}

func TestOnlyNodesAreNodes(t *testing.T) {
	k := newKeyspace("ns")
	prefix := "ns/d/"
	other := strings.Replace(someSession, "0", "1", 1)
	tests := []struct {
		what, key, session string
		want               bool
	}{
		{"a node", prefix + someSession + "-0", someSession, true},
		{"one with a longer id", prefix + someSession + "-w12", someSession, true},
		{"held by nobody", prefix + someSession + "-0", "", false},
		{"held by another session", prefix + someSession + "-0", other, false},
		{"without an id", prefix + someSession + "-", someSession, false},
		{"without a dash", prefix + someSession + "0", someSession, false},
		{"with a slash in the id", prefix + someSession + "-0/1", someSession, false},
		{"in upper case", prefix + strings.ToUpper(someSession) + "-0", strings.ToUpper(someSession), false},
		{"no UUID", prefix + "readme", "readme", false},
		{"another directory", "ns/e/" + someSession + "-0", someSession, false},
		{"the directory", "ns/d", someSession, false},
	}
	for _, tt := range tests {
		kv := &api.KVPair{Key: tt.key, Session: tt.session, CreateIndex: 7, ModifyIndex: 9, Value: []byte("x")}
		nodes := k.nodes("d", []*api.KVPair{kv})
		if len(nodes) == 1 != tt.want {
			t.Errorf("%s: taken for %+v", tt.what, nodes)
			continue
		}
		if !tt.want {
			continue
		}
		if n := nodes[0]; n.Dir != "d" || n.Key != tt.key || n.Session != someSession || n.Seq != 7 || n.Token != 7 || n.Version != 9 || string(n.Data) != "x" {
			t.Errorf("%s: is %+v", tt.what, n)
		}
	}
}

func TestNodesAreInOrder(t *testing.T) {
	k := newKeyspace("ns")
	kvs := []*api.KVPair{
		{Key: k.node("d", someSession, "0"), Session: someSession, CreateIndex: 30},
		{Key: k.node("d", someSession, "1"), Session: someSession, CreateIndex: 10},
		{Key: k.dir("d") + "foreign", CreateIndex: 5},
		{Key: k.node("d", someSession, "2"), Session: someSession, CreateIndex: 20},
	}
	nodes := k.nodes("d", kvs)
	if len(nodes) != 3 || nodes[0].ID != "1" || nodes[1].ID != "2" || nodes[2].ID != "0" {
		t.Errorf("got %+v", nodes)
	}
}

// Consul writes keys that it then refuses to read: those that hold a space or
// two dots once they are decoded as part of a URL.
func TestNamesThatConsulWouldNotRead(t *testing.T) {
	f := start(t)
	s := f.open(time.Minute)
	for _, dir := range []string{"mutex:my%20lock", "mutex:a%2F..%2Fb", "mutex:%2E%2E", "mutex:a..b", "mutex:100%25", "x_y-z.%3A:0"} {
		n := f.create(s, dir, "0")
		wait := waiting(within(t), s, n)
		f.eventuallyWatched(1)
		nodes, err := f.List(within(t), dir)
		must(t, err)
		if len(nodes) != 1 || !nodes[0].Same(n) || nodes[0].Dir != dir {
			t.Errorf("%s: listed %+v; want %+v", dir, nodes, n)
		}
		f.remove(n.Key)
		must(t, receive(t, "the wait", wait))
	}
}
