package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/recipes/election"
)

// runCandidate is the program of a candidate: a service that leads whenever it can, and
// tells of it on its standard output, until ctx ends.
func runCandidate(ctx context.Context, client *coord.Client, name string) error {
	err := election.New(client, name).Run(ctx, nil, func(ctx context.Context, l *election.Leadership) error {
		return office{ctx, l}.hold()
	}, nil)
	if errors.Is(err, context.Canceled) {
		err = nil // as it was told
	}
	return err
}

// hearTerms reads what a candidate tells.
func hearTerms(from io.Reader, heard func(term)) error {
	for told := json.NewDecoder(from); ; {
		var m term
		if err := told.Decode(&m); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		heard(m)
	}
}

// term is what a candidate tells of a leadership, when it begins and again when
// it is over. All times are of the monotonic clock.
type term struct {
	Token uint64
	Began time.Duration

	Over  bool
	Ended time.Duration // the context had ended by then
	Alive time.Duration // the last look at the context that found it alive began then; 0 if none did
	Wrote time.Duration // the last Proclaim that returned nil began then; 0 if none did

	Lost    bool   // and not given up
	Refused bool   // the Proclaim after the end said that it is not held
	Why     string // the end
}

// office is what a candidate is elected to: a leadership, and the context of the
// function that Run runs.
type office struct {
	ctx context.Context
	*election.Leadership
}

// hold is what a leader does.
func (o office) hold() error {
	told := term{Token: o.Token(), Began: monotonic()}
	if err := told.tell(); err != nil {
		return err
	}
	var parts sync.WaitGroup
	parts.Go(func() {
		<-o.ctx.Done()
		told.Ended = monotonic()
	})
	parts.Go(func() { told.Alive = o.look() })
	parts.Go(func() { told.Wrote, told.Refused = o.proclaim() })
	parts.Wait()
	told.Over = true
	if err := o.Err(); err != nil {
		told.Lost, told.Why = coord.Lost(err), err.Error()
	}
	return told.tell()
}

func (m term) tell() error { return json.NewEncoder(os.Stdout).Encode(m) }

// look looks all the time whether the context has ended, as does work that
// consists of many small steps.
func (o office) look() (alive time.Duration) {
	every := time.NewTicker(time.Millisecond)
	defer every.Stop()
	for {
		// The clock before the look: what is found alive was so after that.
		at := monotonic()
		// After a pause this may come before the timers that were due in it.
		// Err does not depend on them, and ends the context if it has to.
		_ = o.Err()
		if o.ctx.Err() != nil {
			return alive
		}
		alive = at
		<-every.C
	}
}

// proclaimEvery is how often a leader tells its followers that it lives.
const proclaimEvery = 100 * time.Millisecond

// proclaim proclaims again and again what time it is, and once more when the
// leadership is lost.
func (o office) proclaim() (wrote time.Duration, refused bool) {
	every := time.NewTicker(proclaimEvery)
	defer every.Stop()
	for {
		ended := o.ctx.Err() != nil
		if ended && o.Err() == nil {
			return wrote, false // told to stop, while it leads
		}
		at := monotonic()
		// The leadership bounds it.
		err := o.Proclaim(context.Background(), []byte(at.String()))
		if err == nil {
			wrote = at
		}
		if ended {
			return wrote, errors.Is(err, coord.ErrNotHeld)
		}
		// If the context has ended, too: what comes next begins with a look at it.
		select {
		case <-every.C:
		case <-o.ctx.Done():
		}
	}
}

// proclaimed returns when the value of a leader was proclaimed, and 0 for the
// one that it was elected with.
func proclaimed(value []byte) (time.Duration, error) {
	if len(value) == 0 {
		return 0, nil
	}
	return time.ParseDuration(string(value))
}

// monotonic is the time of a clock that all processes of a machine share and
// that nobody can set: CLOCK_MONOTONIC of clock_gettime(2).
func monotonic() time.Duration {
	const clockMonotonic = 1
	var now syscall.Timespec
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&now)), 0); errno != 0 {
		panic(errno)
	}
	return time.Duration(now.Nano())
}
