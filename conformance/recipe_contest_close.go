package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/conformance/netfault"
	"github.com/coordkit/coordkit/coord"
)

func contestClose(d duel) {
	a, b := d.Client(), d.Client()
	held := d.take(d.one(a))
	waiter := d.join(d.ctx, "the waiter of the closed client", d.other(b), 2)
	if err := b.Close(d.ctx); err != nil {
		d.Fatalf("Close of the waiter's client: %v", err)
	}
	d.leftBy("Close of the waiter's client", 1)
	d.fails(waiter, coord.ErrClosed)
	if err := a.Close(d.ctx); err != nil {
		d.Fatalf("Close of the holder's client: %v", err)
	}
	d.leftBy("Close of the holder's client", 0)
	d.ends(held, "the hold of the closed client", coord.ErrClosed)
	d.empty()
}

// leftBy wants the line to have so many entries as soon as something has returned.
func (d duel) leftBy(what string, entries int) {
	if left := d.contending(); len(left) != entries {
		d.Fatalf("after %s the line has %s; want %d entries", what, show(left...), entries)
	}
}

// contestCloseAnytime closes a client while it opens a session, joins and waits:
// a slow link makes the time for it.
func contestCloseAnytime(d duel) {
	held := d.take(d.one(d.Client()))
	slow := d.h.TTL / 50
	for i := range 12 {
		c, l := d.ClientOverLink()
		l.Delay(netfault.Both, slow)
		b := d.bid(d.ctx, "the waiter of the closed client", d.other(c))
		d.sleep(time.Duration(i) * slow / 2)
		if err := c.Close(d.ctx); err != nil {
			d.Fatalf("Close: %v", err)
		}
		d.leftBy("Close of a waiter's client", 1)
		d.fails(b, coord.ErrClosed)
	}
	d.Throughout(d.lateness(), func() error {
		d.leftBy("Close of all waiters' clients", 1)
		return nil
	})
	d.holds(held)
	d.release(held)
	d.empty()
}

// contestResidue counts what is in the store before and after.
func contestResidue(d duel) {
	var before Residue
	d.Throughout(d.lateness(), func() error { // until the third client has all of its connections
		d.Nodes(d.dir())
		now := d.residue()
		before = Residue{
			Keys: max(before.Keys, now.Keys), Sessions: max(before.Sessions, now.Sessions),
			Watches: max(before.Watches, now.Watches), Conns: max(before.Conns, now.Conns),
		}
		return nil
	})
	name := d.labeled("clients", func() {
		var clients []*coord.Client
		for range 3 {
			clients = append(clients, d.clientOn(d.Open()))
		}
		d.brawl(clients)
		for _, c := range clients {
			if err := c.Close(d.ctx); err != nil {
				d.Fatalf("Close: %v", err)
			}
		}
	})
	d.noneRuns(name)
	d.Eventually(d.h.Expiry+d.patience(), func() error {
		after := d.residue()
		for _, c := range []struct {
			what          string
			before, after int
		}{
			{"keys", before.Keys, after.Keys},
			{"sessions", before.Sessions, after.Sessions},
			{"watches", before.Watches, after.Watches},
			{"connections", before.Conns, after.Conns},
		} {
			if c.after > c.before {
				return fmt.Errorf("the store has %d %s; there were %d before", c.after, c.what, c.before)
			}
		}
		return nil
	})
}

// brawl acquires, gives up, tries and listens.
func (d duel) brawl(clients []*coord.Client) {
	used := make(names)
	for i := range 8 {
		a, b, c := clients[i%3], clients[(i+1)%3], clients[(i+2)%3]
		held := d.take(d.one(a))
		ctx, cancel := context.WithCancel(d.ctx)
		bored := d.join(ctx, "who gives up", d.other(b), 2)
		next := d.join(d.ctx, "who waits", d.other(c), 3)
		used.add(d.entries(3)...)
		if _, err := d.other(b).Try(d.ctx); !errors.Is(err, coord.ErrBusy) {
			d.Fatalf("Try returned %s; want ErrBusy", errorOf(err))
		}
		listening := d.Go(func() { _, _ = held.Revoked(ctx) })
		cancel()
		d.fails(bored, context.Canceled)
		d.Trial.join("Revoked", listening)
		d.release(held)
		d.release(d.wins(next))
		d.empty()
	}
	d.few(used, 4)
}
