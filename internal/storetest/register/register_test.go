package register

import (
	"strings"
	"sync"
	"testing"
)

// open is a register without a fence.
type open struct {
	mu    sync.Mutex
	value uint64
}

func (r *open) Do(op Op) Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	if op.Write {
		r.value = op.Value
	}
	return Answer{Value: r.value}
}

// use is what a holder does: it reads, then writes.
func use(l *Log, client int, token uint64, held bool) {
	for n, write := range []bool{false, true} {
		_, entry := l.Do(client, Op{Token: token, Write: write, Value: 100*token + uint64(n)})
		if held {
			l.Held(entry)
		}
	}
}

// overlap has a former holder go on after the next has begun.
func overlap(o Object, formerHeld bool) []Entry {
	l := &Log{Object: o}
	use(l, 0, 1, true)
	use(l, 1, 2, true)
	use(l, 0, 1, formerHeld)
	use(l, 1, 2, true)
	return l.Entries()
}

func want(t *testing.T, what string, err error, text string) {
	t.Helper()
	if text == "" && err != nil {
		t.Errorf("%s: %v; want nil", what, err)
	}
	if text != "" && (err == nil || !strings.Contains(err.Error(), text)) {
		t.Errorf("%s: %v; want %q", what, err, text)
	}
}

func TestCheck(t *testing.T) {
	log := overlap(new(Fenced), false)
	want(t, "a former holder that was told", Check(log), "")

	log = overlap(new(Fenced), true)
	want(t, "two hold the lock", Check(log), "client 0 with token 1 reads 0, refused, holding the lock")
	want(t, "two hold the lock, by the tokens", CheckFence(log), "")

	for _, held := range []bool{false, true} {
		log = overlap(new(open), held)
		want(t, "no fence", Check(log), "client 0 with token 1 reads 201")
		want(t, "no fence, by the tokens", CheckFence(log), "client 0 with token 1 reads 201")
	}
}

func TestCheckFindsWhatNoRegisterAnswers(t *testing.T) {
	good := overlap(new(Fenced), false)
	for what, spoil := range map[string]func(log []Entry){
		"a write that was lost":              func(log []Entry) { log[2].Answer.Value = 7 },
		"a refusal without a higher token":   func(log []Entry) { log[6].Refused = true },
		"an answer from before it was asked": func(log []Entry) { log[1].Call, log[1].Return = -1, 0 },
	} {
		log := append([]Entry(nil), good...)
		spoil(log)
		want(t, what, Check(log), "not in order")
	}
}

// Holders that come one after the other, while those before them go on unaware.
func TestManyAtATime(t *testing.T) {
	const holders, times = 8, 50
	for _, o := range []Object{new(Fenced), new(open)} {
		l := &Log{Object: o}
		var wg sync.WaitGroup
		for i := range holders {
			begun := make(chan struct{})
			wg.Go(func() {
				use(l, i, uint64(i+1), false)
				close(begun)
				for range times {
					use(l, i, uint64(i+1), false)
				}
			})
			<-begun
		}
		wg.Wait()
		use(l, 0, 1, false) // late, in any case
		_, fenced := o.(*Fenced)
		if err := Check(l.Entries()); (err == nil) != fenced {
			t.Errorf("fenced %t: %v", fenced, err)
		}
	}
}
