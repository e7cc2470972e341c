package sessions_test

import (
	"context"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/coord/driver/lease"
	"github.com/coordkit/coordkit/coord/driver/sessions"
)

// session is a driver's session. It adds the calls on nodes.
type session struct {
	sessions.Session
}

// A driver's connection opens a session, and closes it with all others.
func Example() {
	keeper := sessions.New("toy")

	s := new(session)
	err := keeper.Open(&s.Session, sessions.Config{
		Lease: lease.Config{
			Session: "17", TTL: 15 * time.Second, Sent: time.Now(),
			Renew: func(ctx context.Context) error { return nil }, // one request to the store
		},
		Revoke: func(ctx context.Context) error { fmt.Println("revoked"); return nil },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = s.Do(context.Background(), s.Write("create", "a/1"), func(ctx context.Context) error { return nil })
	fmt.Println("create:", err)

	keeper.Close(nil)
	fmt.Println(s.Err())
	// Output:
	// create: <nil>
	// revoked
	// toy: session 17: closed
}
