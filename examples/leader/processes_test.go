package main

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/coordkit/coordkit/internal/drivertest"
	"github.com/coordkit/coordkit/internal/testserver"
)

// asProgram makes the test binary the program.
const asProgram = "COORDKIT_EXAMPLE_LEADER"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	drivertest.Main(m)
}

// Three processes on a real store. The one that leads is killed, the next one is
// frozen and thawed, and all the while those that run answer; in the end nothing
// is left in the store.
func TestProcesses(t *testing.T) {
	etcd := testserver.StartEtcd(t, testserver.EtcdOptions{})
	hosts := strings.TrimPrefix(etcd.Endpoints()[0], "http://")
	store := "etcd://" + hosts + "/demo?session_ttl=5s"
	crew := crew{t: t, leads: make(chan *process, 10)}
	for _, name := range []string{"a", "b", "c"} {
		crew.start(store, name)
	}

	first := crew.next()
	first.signal(syscall.SIGKILL)
	first.ended()
	second := crew.next()
	crew.answer(first)

	second.signal(syscall.SIGSTOP)
	third := crew.next()
	crew.answer(first, second)
	second.signal(syscall.SIGCONT)
	second.says("leads no more")
	crew.answer(first)

	for _, p := range []*process{second, third} {
		p.signal(os.Interrupt)
		if state := p.ended(); state.ExitCode() != 0 {
			t.Errorf("%s: %v", p.name, state)
		}
	}
	client, err := clientv3.New(etcd.ClientConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	keys, err := client.Get(t.Context(), "", clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil || len(keys.Kvs) > 0 {
		t.Errorf("left in the store: %v, %v", keys, err)
	}
}

// crew is the processes of a service.
type crew struct {
	t     *testing.T
	all   []*process
	leads chan *process // those that say that they lead
}

// process is one replica.
type process struct {
	t     *testing.T
	name  string
	cmd   *exec.Cmd
	lines chan string // what it says
	read  sync.WaitGroup
	url   string
}

var servesText = regexp.MustCompile(`serves at (http://\S+)`)

func (c *crew) start(store, name string) {
	c.t.Helper()
	p := &process{t: c.t, name: name, cmd: exec.Command(os.Args[0], "-store", store, "-name", name), lines: make(chan string, 1000)}
	p.cmd.Env = append(os.Environ(), asProgram+"=1")
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		c.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // if it still runs
		p.read.Wait()
		_ = p.cmd.Wait()
	})
	p.read.Go(func() {
		defer close(p.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			if strings.Contains(s.Text(), "leads, token") {
				c.leads <- p
			}
			p.lines <- s.Text()
		}
	})
	p.url = servesText.FindStringSubmatch(p.says("serves at"))[1]
	c.all = append(c.all, p)
}

// patience is how long a slow machine may take for anything here.
const patience = time.Minute

// next waits for the next that says that it leads.
func (c *crew) next() *process {
	c.t.Helper()
	select {
	case p := <-c.leads:
		return p
	case <-time.After(patience):
		c.t.Fatal("nobody leads")
		return nil
	}
}

// says waits for the process to say something.
func (p *process) says(text string) string {
	p.t.Helper()
	late := time.After(patience)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("%s has ended and not said %q", p.name, text)
			}
			if strings.Contains(line, text) {
				return line
			}
		case <-late:
			p.t.Fatalf("%s does not say %q", p.name, text)
		}
	}
}

func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

// ended waits for the process to end.
func (p *process) ended() *os.ProcessState {
	p.t.Helper()
	p.read.Wait()
	_ = p.cmd.Wait() // its state says more
	return p.cmd.ProcessState
}

// answer wants every process but those that cannot to answer each request, and
// soon with a count.
func (c *crew) answer(but ...*process) {
	c.t.Helper()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(c.t.Context(), patience)
	defer cancel()
next:
	for _, p := range c.all {
		for _, b := range but {
			if p == b {
				continue next
			}
		}
		for counted := false; !counted; pause(ctx, tick) {
			got, err := get(ctx, client, p.url)
			if err != nil || got.Replica != p.name {
				c.t.Fatalf("%s answers %+v, %v", p.name, got, err)
			}
			counted = got.Count > 0
		}
	}
}
