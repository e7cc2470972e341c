package sql

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// A holder that was overtaken cannot commit what it has begun: its transaction fails, also
// if nothing has told it of the loss yet.
func TestFenceOfAnOvertakenHolder(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		must(t, d.exec(t.Context(), "CREATE TABLE account (balance INT)"))
		must(t, d.exec(t.Context(), "INSERT INTO account VALUES (0)"))
		client := func() *coord.Client {
			c, err := coord.New(d.open(t), coord.Config{SessionTTL: coord.Duration(driverTTL)})
			must(t, err)
			t.Cleanup(func() { must(t, c.Close(context.Background())) })
			return c
		}
		first, err := mutex.New(client(), "account").Lock(within(t))
		must(t, err)
		add := func(token uint64, amount int) error {
			tx := d.begin(t)
			if err := Fence(t.Context(), tx, d.dialect, token); err != nil {
				must(t, tx.Rollback())
				return err
			}
			_, err := tx.ExecContext(t.Context(), fmt.Sprintf("UPDATE account SET balance = balance + %d", amount))
			must(t, err)
			return tx.Commit()
		}
		must(t, add(first.Token(), 1))
		must(t, d.exec(t.Context(), "DELETE FROM {p}session")) // as if it had expired
		second, err := mutex.New(client(), "account").Lock(within(t))
		must(t, err)
		must(t, add(second.Token(), 10))
		wantIs(t, add(first.Token(), 100), driver.ErrGone)
		if balance, err := d.count(t.Context(), "SELECT balance FROM account"); err != nil || balance != 11 {
			t.Errorf("the balance is %d, %v; want 11", balance, err)
		}
		must(t, second.Unlock(within(t)))
	})
}

// Until the end of the transaction nobody takes the hold away: not a release, nor the one
// who comes after the session was due.
func TestFenceKeepsTheHold(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		s := d.session(t)
		n := create(t, s, "d", "0")
		tx := d.begin(t)
		must(t, Fence(t.Context(), tx, d.dialect, n.Token))
		short, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		wantIs(t, s.Delete(short, n), context.DeadlineExceeded)
		must(t, tx.Commit())
		must(t, s.Delete(within(t), n))
		tx = d.begin(t)
		wantIs(t, Fence(t.Context(), tx, d.dialect, n.Token), driver.ErrGone)
		must(t, tx.Rollback())

		n = create(t, s, "d", "1")
		other := d.open(t)
		must(t, d.exec(t.Context(), "UPDATE {p}session SET expires = 1")) // nobody has deleted it yet
		tx = d.begin(t)
		must(t, Fence(t.Context(), tx, d.dialect, n.Token))
		if nodes := listed(t, other); len(nodes) != 1 || !nodes[0].Same(n) {
			t.Errorf("during the transaction there are %+v; want %+v", nodes, n)
		}
		must(t, tx.Commit())
		eventually(t, "the node is gone", func() bool { return len(listed(t, other)) == 0 })
	})
}

func TestGate(t *testing.T) {
	onEach(t, func(t *testing.T, d *database) {
		_, err := d.own.ExecContext(t.Context(), d.dialect.GateSchema())
		must(t, err)
		for _, step := range []struct {
			name    string
			token   uint64
			commit  bool
			refused bool
		}{
			{"a", 5, true, false},
			{"a", 5, true, false},
			{"a", 9, false, false},
			{"a", 7, true, false},
			{"a", 6, true, true},
			{"it's another", 1, true, false},
			{"a", 8, true, false},
			{"it's another", 0, true, true},
		} {
			tx := d.begin(t)
			err := Gate(t.Context(), tx, d.dialect, step.name, step.token)
			if step.refused {
				wantIs(t, err, driver.ErrGone)
			} else {
				must(t, err)
			}
			if step.commit {
				must(t, tx.Commit())
			} else {
				must(t, tx.Rollback())
			}
		}
	})
}
