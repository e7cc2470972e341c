package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// outcome is what a run of the program has left.
type outcome struct {
	status      int
	out, errors string
}

// execute runs the program, with out for a second reader of its output.
func execute(t *testing.T, ctx context.Context, out io.Writer, args ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	var stdout, stderr strings.Builder
	status := run(ctx, args, io.MultiWriter(&stdout, out), &stderr)
	return outcome{status, stdout.String(), stderr.String()}
}

var (
	storyText = regexp.MustCompile(`^(\d) replicas on mem:// with a TTL of 3s

 +\S+s  (replica-\d)  leads, token (\d+)
 +\S+s  (replica-\d)  was cut off from the store
 +\S+s  (replica-\d)  leads no more: .*not held: .*session lost.*
 +\S+s  (replica-\d)  leads, token (\d+)
 +\S+s  (replica-\d)  is connected again; (replica-\d) leads on

2 leaders, tokens strictly rising: yes, one at a time: yes
(\d+) requests answered, \d+ of them while nobody led; every request: yes, no count fell: yes
$`)
)

// One leads, is cut off, stops, and is followed by another, and all the while
// every replica answers.
func TestStory(t *testing.T) {
	for _, replicas := range []string{"2", "3", "7"} {
		t.Run(replicas, func(t *testing.T) {
			got := execute(t, t.Context(), io.Discard, "-ttl", "3s", "-replicas", replicas)
			m := storyText.FindStringSubmatch(got.out)
			if got.status != 0 || got.errors != "" || m == nil {
				t.Fatalf("status %d\n%s\n%s", got.status, got.out, got.errors)
			}
			victim, heir := m[2], m[6]
			if m[1] != replicas || m[4] != victim || m[5] != victim || m[8] != victim || heir == victim || m[9] != heir {
				t.Errorf("the story does not fit together:\n%s", got.out)
			}
			if number(t, m[7]) <= number(t, m[3]) || number(t, m[10]) == 0 {
				t.Errorf("token %s after %s; %s answers", m[7], m[3], m[10])
			}
		})
	}
}

func number(t *testing.T, text string) int {
	t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// An interrupt when there is the most to clear up.
func TestInterrupt(t *testing.T) {
	ctx, interrupt := context.WithCancelCause(t.Context())
	defer interrupt(nil)
	got := execute(t, ctx, onText{"cut off", func() { interrupt(fmt.Errorf("%w: by the test", context.Canceled)) }})
	if got.status != 1 || got.errors != "leader: context canceled: by the test\n" || strings.Contains(got.out, "leaders") {
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

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		name                           string
		tokens, overlaps, failed, fell int
		ok                             bool
	}{
		{"all is well", 0, 0, 0, 0, true},
		{"token fell", 1, 0, 0, 0, false},
		{"two leaders", 0, 1, 0, 0, false},
		{"no answer", 0, 0, 1, 0, false},
		{"count fell", 0, 0, 0, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := stage{story: &timeline{out: io.Discard, fallen: c.tokens, overlaps: c.overlaps}}
			if err := s.verdict(&asker{failed: c.failed, fallen: c.fell}); (err == nil) != c.ok {
				t.Errorf("verdict: %v; want it passed: %t", err, c.ok)
			}
		})
	}
}

func TestAskerNoticesFallingCounts(t *testing.T) {
	a := asker{highest: make(map[string]int)}
	for _, one := range []answer{
		{Replica: "a", news: news{Count: 2}},
		{Replica: "b", news: news{Count: 1}, Vacant: true}, // behind, as it may be
		{Replica: "a", news: news{Count: 2}},
		{Replica: "b", news: news{Count: 0}},
	} {
		a.hear(one)
	}
	if a.answered != 4 || a.vacant != 1 || a.fallen != 1 {
		t.Errorf("%+v; want 4 answers, 1 of them vacant and 1 fallen", a)
	}
}

func TestWrongUse(t *testing.T) {
	for _, c := range []struct {
		name, wants, args string
		status            int
	}{
		{"unknown scheme", "registered are", "-store zebra://127.0.0.1/demo", 2},
		{"password in the URL", "password_file", "-store etcd://me:hunter2@127.0.0.1/demo", 2},
		{"one replica", "2 replicas", "-replicas 1", 2},
		{"no flag", "nothing but flags", "mem://", 2},
		{"TTL that is not granted", "session_ttl", "-ttl 1ms", 2},
		{"unreachable store", "unavailable", "-store etcd://127.0.0.1:1/demo -ttl 1s", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := execute(t, t.Context(), io.Discard, strings.Fields(c.args)...)
			if got.status != c.status || got.out != "" || strings.Count(got.errors, "\n") != 1 || !strings.Contains(got.errors, c.wants) {
				t.Errorf("status %d, printed %q and %q; want %d and one line that says %q", got.status, got.out, got.errors, c.status, c.wants)
			}
			if strings.Contains(got.errors, "hunter2") {
				t.Errorf("shows a secret: %q", got.errors)
			}
		})
	}
	if got := execute(t, t.Context(), io.Discard, "-help"); got.status != 0 || !strings.Contains(got.errors, "-store URL") {
		t.Errorf("%+v", got)
	}
}
