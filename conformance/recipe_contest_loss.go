package conformance

import (
	"errors"
	"time"

	"github.com/coordkit/coordkit/conformance/internal/subject"
	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord"
)

func contestLoss(d duel, fault func(Link)) {
	holder, l := d.ClientOverLink()
	held := d.take(d.one(holder))
	next := d.join(d.ctx, "the next in line", d.other(d.Client()), 2)
	fault(l)
	told := false
	grant := d.Go(func() {
		<-next.over
		told = ended(held.Done())
	})
	if !d.within(d.h.Expiry+d.patience(), grant) {
		d.Fatalf("what the one who was cut off has does not go to the next in line")
	}
	second := d.wins(next)
	if !told && held.Err() == nil {
		d.Fatalf("the next in line got it, and the holder had not been told")
	}
	d.ends(held, "the holder that was cut off", coord.ErrSessionLost)
	if second.Token() <= held.Token() {
		d.Fatalf("the next in line got token %d after %d", second.Token(), held.Token())
	}
	if err := held.Release(d.ctx); !errors.Is(err, coord.ErrNotHeld) {
		d.Fatalf("releasing what is lost returned %s; want ErrNotHeld", errorOf(err))
	}
	d.holds(second)
	d.heal(l)
	d.stay([]subject.Hold{second}) // nothing of the loser's lands on it
	d.release(second)
	d.empty()
}

// contestMargin measures how long before the next in line holds the holder was told. What
// the holder's client still sends may reach the store, and must not shorten that.
func contestMargin(d duel, cut netfault.Direction) {
	c, l := d.ClientOverLink()
	held := d.take(d.one(c))
	ttl := held.Session().TTL()
	promised := min(ttl/10, max(time.Second, ttl/50))
	next := d.join(d.ctx, "the next in line", d.other(d.Client()), 2)
	start := time.Now()
	l.Freeze(cut)
	var told, granted time.Time
	both := []<-chan struct{}{
		d.Go(func() {
			select { // or the trial is over
			case <-held.Done():
			case <-d.ctx.Done():
			}
			told = time.Now()
		}),
		d.Go(func() {
			<-next.over
			granted = time.Now()
		}),
	}
	second := d.wins(next)
	d.Trial.join("a hold's Done, when the next in line holds", both...)
	// A quarter is for clocks that differ and for what the store's clock rounds.
	if margin := granted.Sub(told) + d.pulse.lag(start); margin < promised*3/4 {
		d.Fatalf("the next in line got it %v after the holder was told; of a TTL of %v it is promised %v", margin.Round(time.Millisecond), ttl, promised)
	}
	d.release(second)
}
