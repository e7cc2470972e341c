package trial

import (
	"time"

	"github.com/coordkit/coordkit/internal/storetest/register"
)

// hold is what work needs to know of a hold.
type hold interface {
	Token() uint64
	Done() <-chan struct{}
	Err() error
}

// resource is a register with its log, as a holder reaches it.
type resource interface {
	// do reads or writes, and returns the number of the log's entry.
	do(op register.Op) (a register.Answer, entry int, err error)

	// held says that the lock was proved held after the entry's answer had come.
	held(entry int) error
}

// The pauses between two uses of the resource: while the lock is held, and after its
// loss.
const (
	pace     = 50 * time.Millisecond
	lostPace = 5 * time.Millisecond
)

// work reads and writes the resource again and again, until stop is closed: also
// after the lock was lost, until it is refused, like a holder that does not look. The
// error is the resource's.
func work(h hold, r resource, stop <-chan struct{}) error {
	ended, every := h.Done(), pace
	for n := uint64(1); ; n++ {
		refused := false
		for _, write := range []bool{false, true} {
			a, entry, err := r.do(register.Op{Token: h.Token(), Write: write, Value: h.Token()<<32 + n})
			if err != nil {
				return err
			}
			if refused = a.Refused; refused && h.Err() == nil {
				if err := r.held(entry); err != nil {
					return err
				}
			}
		}
		if refused && h.Err() != nil {
			return nil
		}
		timer := time.NewTimer(every)
		select { // whichever comes first: what follows is the same
		case <-timer.C:
		case <-ended:
			ended, every = nil, lostPace
		case <-stop:
			timer.Stop()
			return nil
		}
		timer.Stop()
	}
}
