package poll_test

import (
	"context"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/coord/driver/poll"
	"github.com/coordkit/coordkit/coord/driver/sessions"
)

// The holder's session is due in 5 ms. The waiter looks then, deletes the session, and sees
// that the node is gone.
func Example() {
	keeper := sessions.New("toy")
	defer keeper.Close(nil)

	due := time.Now().Add(5 * time.Millisecond)
	there := map[uint64]bool{7: true} // the store
	waits := poll.New(poll.Config{
		Store: "toy", Keeper: keeper, Longest: time.Hour,
		Look: func(ctx context.Context, q poll.Question) (a poll.Answer, err error) {
			for i, n := range q.Nodes {
				if !there[n.Token] {
					a.Gone = append(a.Gone, i)
				}
			}
			a.Next = time.Until(due)
			a.Expired = len(a.Gone) == 0 && a.Next <= 0
			return a, nil
		},
		Reap: func(ctx context.Context) error {
			fmt.Println("reap")
			delete(there, 7)
			return nil
		},
	})
	gone, err := waits.Wait(context.Background(), driver.Node{Key: "a/1", Token: 7})
	fmt.Println("gone:", gone, err)
	// Output:
	// reap
	// gone: 0 <nil>
}
