package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
	"github.com/coordkit/coordkit/internal/drivertest"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

// outcome is what a run of the program has left.
type outcome struct {
	status      int
	out, errors string
}

// execute runs the program, with out for a second reader of its output, and
// checks that it removes its file.
func execute(t *testing.T, ctx context.Context, out io.Writer, args ...string) outcome {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var stdout, stderr strings.Builder
	status := run(ctx, args, io.MultiWriter(&stdout, out), &stderr)
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left on disk: %v, %v", left, err)
	}
	return outcome{status, stdout.String(), stderr.String()}
}

func TestStory(t *testing.T) {
	for _, size := range []struct{ workers, rounds int }{{3, 3}, {2, 1}, {5, 2}} {
		t.Run(fmt.Sprintf("%dx%d", size.workers, size.rounds), func(t *testing.T) {
			got := execute(t, t.Context(), io.Discard, "-ttl", "2s",
				"-workers", strconv.Itoa(size.workers), "-rounds", strconv.Itoa(size.rounds))
			checkStory(t, got, size.workers*size.rounds)
		})
	}
}

var (
	eventLine  = regexp.MustCompile(`^ +\d+\.\d{3}s  (worker-\d+) +(.*)$`)
	grantText  = regexp.MustCompile(`^holds the lock, token (\d+)(?:, \d+\.\d\ds after (worker-\d+) had stopped)?$`)
	lateText   = regexp.MustCompile(`^late write with token (\d+) refused: (\d+) has been here$`)
	endOfStory = regexp.MustCompile(`^(\d+) grants, tokens strictly rising: yes, nobody overlapped: yes
(\d+) writes accepted, (\d+) refused, no update lost: yes
the file: \{Token:(\d+) Holder:(worker-\d+) Count:(\d+)\}
$`)
)

// checkStory reads what the program printed: every update was made, one after
// the other, under rising tokens; and one worker was cut off, lost the lock,
// was followed by another, was refused, and came back.
func checkStory(t *testing.T, got outcome, updates int) {
	t.Helper()
	defer func() {
		if t.Failed() {
			t.Logf("status %d\n%s\n%s", got.status, got.out, got.errors)
		}
	}()
	if got.status != 0 || got.errors != "" {
		t.Errorf("status %d, on stderr %q; want success", got.status, got.errors)
	}
	parts := strings.Split(got.out, "\n\n")
	if len(parts) != 3 {
		t.Fatalf("%d parts; want a heading, the events and the end", len(parts))
	}

	var grants, writes int
	var token, lost, late string // the latest token, the lost one, and the one it was refused for
	var holder, victim string
	var chapters []string // of the accident
	for line := range strings.Lines(parts[1]) {
		event := eventLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if event == nil {
			t.Fatalf("not an event: %q", line)
		}
		who, text := event[1], event[2]
		if m := grantText.FindStringSubmatch(text); m != nil {
			grants++
			if number(t, m[1]) <= number(t, token) {
				t.Errorf("token %s after %s", m[1], token)
			}
			holder, token = who, m[1]
			switch {
			case m[2] != "":
				chapters = append(chapters, "taken over")
				if m[2] != victim || who == victim {
					t.Errorf("%s took over from %s; %s was cut off", who, m[2], victim)
				}
			case who == victim && len(chapters) == 4: // for the first time since
				chapters = append(chapters, "came back")
			}
			continue
		}
		if text == fmt.Sprintf("wrote count %d", writes+1) && who == holder {
			writes++
			continue
		}
		switch m := lateText.FindStringSubmatch(text); {
		case text == "was cut off from the store" && who == holder:
			victim, lost = who, token
			chapters = append(chapters, "cut off")
		case strings.HasPrefix(text, "lost the lock and stopped: ") && strings.Contains(text, "session lost") && who == victim:
			chapters = append(chapters, "stopped")
		case m != nil && who == victim && m[1] == lost:
			late = m[2]
			chapters = append(chapters, "refused")
		case text == "goes on as if nothing had happened" && who == victim:
		default:
			t.Errorf("out of place: %q", line)
		}
	}
	want := "cut off, stopped, taken over, refused, came back"
	if s := strings.Join(chapters, ", "); s != want {
		t.Errorf("the accident: %s; want %s", s, want)
	}
	if number(t, late) <= number(t, lost) {
		t.Errorf("token %s was refused for %s", lost, late)
	}

	end := endOfStory.FindStringSubmatch(parts[2])
	if end == nil {
		t.Fatalf("the end: %q", parts[2])
	}
	wantEnd := []string{strconv.Itoa(grants), strconv.Itoa(updates), "1", token, holder, strconv.Itoa(updates)}
	if s := strings.Join(end[1:], " "); s != strings.Join(wantEnd, " ") || writes != updates {
		t.Errorf("the end says %s after %d writes; want %v after %d", s, writes, wantEnd, updates)
	}
}

// number is that of a token; no token is 0.
func number(t *testing.T, token string) uint64 {
	t.Helper()
	if token == "" {
		return 0
	}
	n, err := strconv.ParseUint(token, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// An interrupt in the middle of the accident, when there is the most to clear
// up: a holder that is cut off, and others in line.
func TestInterrupt(t *testing.T) {
	opener, err := driver.DefaultMux.Lookup("mem")
	if err != nil {
		t.Fatal(err)
	}
	observer, err := opener.Open(t.Context(), driver.Target{Scheme: "mem", Hosts: []string{"interrupted"}, Namespace: "observer"})
	if err != nil {
		t.Fatal(err)
	}
	defer observer.Close()

	interrupted(t, "-store", "mem://interrupted/demo")
	if left := observer.(*mem.Conn).Store().Stats(); left != (mem.Stats{Conns: 1}) {
		t.Errorf("left in the store: %+v; want the test's own connection alone", left)
	}
}

// interrupted interrupts the program when it says that a worker was cut off.
func interrupted(t *testing.T, args ...string) {
	t.Helper()
	ctx, interrupt := context.WithCancelCause(t.Context())
	got := execute(t, ctx, onText{"cut off", func() { interrupt(fmt.Errorf("%w: interrupted by the test", context.Canceled)) }}, args...)
	if got.status != 1 || got.errors != "quickstart: context canceled: interrupted by the test\n" || strings.Contains(got.out, "grants") {
		t.Errorf("status %d\n%s%s", got.status, got.out, got.errors)
	}
}

// onText calls do for each line that contains text.
type onText struct {
	text string
	do   func()
}

func (o onText) Write(line []byte) (int, error) {
	if strings.Contains(string(line), o.text) {
		o.do()
	}
	return len(line), nil
}

func TestWrongUse(t *testing.T) {
	for _, c := range []struct{ name, wants, args string }{
		{"unknown scheme", "registered are consul, etcd, mem, mysql, postgres, sqlite, zk", "-store zebra://127.0.0.1/demo"},
		{"no scheme", "no scheme", "-store 127.0.0.1:2379"},
		{"no host", "no host", "-store etcd:///demo"},
		{"malformed port", "port", "-store etcd://127.0.0.1:many/demo"},
		{"unknown parameter", "mem takes session_ttl", "-store mem://?tls=true"},
		{"password in the URL", "password_file", "-store etcd://me:hunter2@127.0.0.1/demo"},
		{"TTL that is not granted", "session_ttl 1ms", "-ttl 1ms"},
		{"no TTL", "positive TTL", "-ttl -1s"},
		{"nobody to contend with", "2 workers", "-workers 1"},
		{"no rounds", "1 round", "-rounds 0"},
		{"no flag", "goes with -store", "mem://"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := execute(t, t.Context(), io.Discard, strings.Fields(c.args)...)
			if got.status != 2 || got.out != "" || strings.Count(got.errors, "\n") != 1 || !strings.Contains(got.errors, c.wants) {
				t.Errorf("status %d, printed %q and %q; want 2 and one line that says %q", got.status, got.out, got.errors, c.wants)
			}
			if strings.Contains(got.errors, "hunter2") {
				t.Errorf("shows a secret: %q", got.errors)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	got := execute(t, t.Context(), io.Discard, "-help")
	if got.status != 0 || !strings.Contains(got.errors, "-store URL") {
		t.Errorf("%+v", got)
	}
}

// A port where nobody listens.
func TestUnreachableStore(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := listener.Addr().String()
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	got := execute(t, t.Context(), io.Discard, "-store", "etcd://"+host+"/demo", "-ttl", "1s")
	if got.status != 1 || got.out != "" || strings.Count(got.errors, "\n") != 1 ||
		!strings.Contains(got.errors, "store unavailable") || !strings.Contains(got.errors, host) {
		t.Errorf("status %d, printed %q and %q; want 1 and one line that says what is unavailable", got.status, got.out, got.errors)
	}
}
