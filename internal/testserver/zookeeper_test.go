package testserver

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

func (z zookeeperKV) word(t *testing.T, word string) string {
	t.Helper()
	answer, err := z.Member(0).FourLetter(patient(t), word)
	must(t, err)
	return answer
}

// granted asks for a session with a timeout and returns the one it gets.
func (z zookeeperKV) granted(t *testing.T, timeout time.Duration) time.Duration {
	t.Helper()
	conn, err := dialZooKeeper(patient(t), z.Member(0).Endpoint(), z.tlsConfig)
	must(t, err)
	defer conn.Close()
	request := slicesOf(make([]byte, 4+8), juteInt(uint32(timeout.Milliseconds())), make([]byte, 8), juteBuffer(strings.Repeat("\x00", 16)))
	must(t, conn.send(append(request, 0)))
	reply, err := conn.receive()
	must(t, err)
	return time.Duration(binary.BigEndian.Uint32(reply[4:])) * time.Millisecond
}

func TestZooKeeperServes(t *testing.T) {
	z := zookeeperKV{StartZooKeeper(t, ZooKeeperOptions{})}
	if stat := z.word(t, "stat"); !strings.HasPrefix(stat, "Zookeeper version: 3.8.") {
		t.Errorf("the server is %s, want ZooKeeper 3.8", stat)
	}
	for word, want := range map[string]string{
		"ruok": "imok",
		"srvr": "Mode: standalone",
		"mntr": "zk_znode_count\t",
		"wchs": "Total watches:0",
		"wchp": "",
		"cons": "/127.0.0.1:",
		"dump": "SessionTracker dump",
		"conf": "tickTime=200\n",
	} {
		if answer := z.word(t, word); !strings.Contains(answer, want) {
			t.Errorf("%s: %q, expected %q in it", word, answer, want)
		}
	}
	for asked, want := range map[time.Duration]time.Duration{
		time.Millisecond: 400 * time.Millisecond,
		time.Second:      time.Second,
		time.Minute:      40 * time.Second,
	} {
		if got := z.granted(t, asked); got != want {
			t.Errorf("a session of %v was granted for %v, want %v", asked, got, want)
		}
	}
}

func TestZooKeeperConfiguration(t *testing.T) {
	z := zookeeperKV{StartZooKeeper(t, ZooKeeperOptions{
		TickTime:          100 * time.Millisecond,
		MinSessionTimeout: time.Second,
		MaxSessionTimeout: 2 * time.Second,
		ExtraConfig:       map[string]string{"maxClientCnxns": "7"},
	})}
	conf := z.word(t, "conf")
	for _, want := range []string{"tickTime=100\n", "minSessionTimeout=1000\n", "maxSessionTimeout=2000\n", "maxClientCnxns=7\n"} {
		if !strings.Contains(conf, want) {
			t.Errorf("the server's configuration is %s, expected %s in it", conf, want)
		}
	}
}

func TestFourLetterTellsWhyNot(t *testing.T) {
	z := StartZooKeeper(t, ZooKeeperOptions{})
	if _, err := z.Member(0).FourLetter(patient(t), "what"); err == nil || !strings.Contains(err.Error(), "command what") {
		t.Errorf("an unknown word: %v, expected an error that names it", err)
	}
	must(t, z.Member(0).Freeze())
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := z.Member(0).FourLetter(ctx, "ruok"); err == nil || ctx.Err() == nil || !strings.Contains(err.Error(), ctx.Err().Error()) {
		t.Errorf("a frozen member: %v, want %v", err, context.DeadlineExceeded)
	}
	must(t, z.Member(0).Kill())
	if _, err := z.Member(0).FourLetter(patient(t), "ruok"); err == nil {
		t.Error("a killed member answers")
	}
}

// A session may read what its user is allowed to, and super everything.
func TestZooKeeperSuperuser(t *testing.T) {
	z := zookeeperKV{StartZooKeeper(t, ZooKeeperOptions{SuperPassword: "secret"})}
	ctx := patient(t)
	const nobody = 0 // no rights at all
	acl := slicesOf(juteInt(1), juteInt(nobody), juteBuffer("world"), juteBuffer("anyone"))
	_, err := z.call(ctx, 0, opCreate, slicesOf(juteBuffer("/closed"), juteBuffer("v"), acl, juteInt(0)))
	must(t, err)
	for password, want := range map[string]string{"": "error code -102", "wrong": "error code -102", "secret": ""} {
		conn, err := dialZooKeeper(ctx, z.Member(0).Endpoint(), nil)
		must(t, err)
		defer conn.Close()
		must(t, conn.open())
		if password != "" {
			_, err := conn.call(opAuth, slicesOf(juteInt(0), juteBuffer("digest"), juteBuffer("super:"+password)))
			must(t, err)
		}
		_, err = conn.call(opGetData, slicesOf(juteBuffer("/closed"), []byte{0}))
		if got := errorText(err); got != want {
			t.Errorf("a read by super with the password %q: %q, want %q", password, got, want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestZooKeeperDemandsAClientCertificate(t *testing.T) {
	z := zookeeperKV{StartZooKeeper(t, ZooKeeperOptions{TLS: true})}
	must(t, z.put(patient(t), 0, "k", "v"))
	if got, err := z.get(patient(t), 0, "k"); got != "v" || err != nil {
		t.Errorf("the key is %q, %v, want %q", got, err, "v")
	}
	if leader, err := z.Leader(patient(t)); leader != 0 || err != nil {
		t.Errorf("Leader: %d, %v", leader, err)
	}
	if answer := z.word(t, "ruok"); answer != "imok" {
		t.Errorf("ruok: %q", answer)
	}
	refusesStrangers(t, z.TLS, z.Member(0).Endpoint())
}

// The members find each other where they are told to.
func TestZooKeeperPeerAddr(t *testing.T) {
	var mu sync.Mutex
	var listeners []net.Listener
	used := make(map[[2]int]int)
	var running sync.WaitGroup
	t.Cleanup(func() {
		mu.Lock()
		for _, l := range listeners {
			l.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	z := zookeeperKV{StartZooKeeper(t, ZooKeeperOptions{Members: 3, PeerAddr: func(from, to int, addr string) (string, error) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", err
		}
		mu.Lock()
		defer mu.Unlock()
		listeners = append(listeners, l)
		running.Go(func() {
			relay(l, addr, func() {
				mu.Lock()
				defer mu.Unlock()
				used[[2]int{from, to}]++
			})
		})
		return l.Addr().String(), nil
	}})}
	leader, err := z.Leader(patient(t))
	must(t, err)
	must(t, z.put(patient(t), (leader+1)%3, "k", "v"))
	mu.Lock()
	defer mu.Unlock()
	for from := range 3 {
		if from != leader && used[[2]int{from, leader}] == 0 {
			t.Errorf("member %d follows %d, and the ways used are %v", from, leader, used)
		}
		if used[[2]int{from, from}] > 0 {
			t.Errorf("member %d calls itself", from)
		}
	}
}

// relay passes connections on until the listener is closed and they have ended.
func relay(l net.Listener, target string, accepted func()) {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		from, err := l.Accept()
		if err != nil {
			return
		}
		accepted()
		to, err := net.Dial("tcp", target)
		if err != nil {
			from.Close()
			continue
		}
		for _, pair := range [][2]net.Conn{{from, to}, {to, from}} {
			running.Go(func() {
				_, _ = io.Copy(pair[1], pair[0]) // one end is closed in the end
				pair[0].Close()
				pair[1].Close()
			})
		}
	}
}

func TestZooKeeperOptionsAreChecked(t *testing.T) {
	for _, c := range []struct {
		opts ZooKeeperOptions
		want string
	}{
		{ZooKeeperOptions{Members: 2}, "Members is 2"},
		{ZooKeeperOptions{TickTime: time.Microsecond}, "TickTime is 1µs"},
		{ZooKeeperOptions{MinSessionTimeout: -time.Second}, "MinSessionTimeout is -1s"},
		{ZooKeeperOptions{MaxSessionTimeout: time.Second + 1}, "MaxSessionTimeout is 1.000000001s"},
		{ZooKeeperOptions{MinSessionTimeout: time.Minute}, "MaxSessionTimeout is 40s"},
		{ZooKeeperOptions{Members: 3, PeerAddr: func(int, int, string) (string, error) { return "there:1", nil }}, `PeerAddr: "there:1"`},
		{ZooKeeperOptions{Members: 3, PeerAddr: func(int, int, string) (string, error) { return "", os.ErrPermission }}, "PeerAddr: permission denied"},
	} {
		if _, err := NewZooKeeper(t.Context(), c.opts); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, expected %q", c.opts, err, c.want)
		}
	}
}
