package foreign

import (
	"math"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestWrongCasesAreErrors(t *testing.T) {
	for want, c := range map[string]Case{
		`"none": expected uncontended, contention, drain, keys,`: {Name: "none"},
		"semaphore: option Limit is 0":                           {Name: Semaphore, Clients: 1, Seconds: 1},
		"readwrite: option Clients is 0":                         {Name: ReadWrite, Seconds: 1},
		"follow: option Path is empty":                           {Name: Follow, Clients: 1},
		"election: option Session is -1s":                        {Name: Election, Seconds: 1, Session: -time.Second},
		"uncontended: option Seconds is 0":                       {Name: Uncontended},
		"uncontended: option Seconds is NaN":                     {Name: Uncontended, Seconds: math.NaN()},
		"contention: option Clients is 0":                        {Name: Contention, Seconds: 1},
		"drain: option Clients is 0":                             {Name: Drain, Waiters: 1},
		"drain: option Waiters is -1":                            {Name: Drain, Clients: 1, Waiters: -1},
		"keys: option Keys is 0":                                 {Name: Keys, Seconds: 1},
	} {
		if _, err := c.request("/"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, expected an error with %q", c, err, want)
		}
	}
}

func TestMissingLanguageIsAnError(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for name, want := range map[string]string{"kazoo": "python3", "curator": "default-jre-headless"} {
		if _, err := peers[name](t.Context(), []string{"127.0.0.1:1"}, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected an error that names %s", name, err, want)
		}
	}
}

// What a worker says before it ends is a part of the error.
func TestWorkerThatCannotStart(t *testing.T) {
	for script, want := range map[string]string{
		"echo no library here >&2; exit 3": "exit status 3\nno library here",
		"echo no answer":                   "invalid character",
		`echo '{"error":"no memory"}'`:     "no memory",
	} {
		p, err := start(patient(t), "peer", exec.Command("/bin/sh", "-c", script))
		if err == nil {
			t.Errorf("%s: it started as %v", script, p)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, expected an error with %q", script, err, want)
		}
	}
}

func TestTailKeepsTheLast(t *testing.T) {
	var kept tail
	for range 1000 {
		kept.Write([]byte("0123456789"))
	}
	kept.Write([]byte("end"))
	if got := kept.String(); len(got) != tailSize || !strings.HasSuffix(got, "6789end") {
		t.Errorf("%d bytes are kept, want the last %d", len(got), tailSize)
	}
}
