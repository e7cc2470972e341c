package mem_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coordkit/coordkit/coord/driver"
	"github.com/coordkit/coordkit/drivers/mem"
)

// Two clients of one store stand in line.
func Example() {
	ctx := context.Background()
	store := mem.NewStore()
	var sessions [2]driver.Session
	for i := range sessions {
		conn := store.Open("myapp")
		defer conn.Close()
		s, err := conn.OpenSession(ctx, 10*time.Second)
		if err != nil {
			fmt.Println(err)
			return
		}
		sessions[i] = s
	}
	alice, bob := sessions[0], sessions[1]

	first, _ := alice.Create(ctx, "mutex:deploy", "0", nil)
	second, _ := bob.Create(ctx, "mutex:deploy", "0", nil)
	fmt.Println("bob is behind alice:", first.Token < second.Token)

	go alice.Delete(ctx, first)
	fmt.Println("bob's turn:", bob.WaitDelete(ctx, first) == nil)
	// Output:
	// bob is behind alice: true
	// bob's turn: true
}

// A reply gets lost: the node was made, and creating it again finds it.
func ExampleLink_DropNextReply() {
	ctx := context.Background()
	conn := mem.NewStore().Open("myapp")
	defer conn.Close()
	s, err := conn.OpenSession(ctx, 10*time.Second)
	if err != nil {
		fmt.Println(err)
		return
	}

	conn.Link().DropNextReply(mem.OpCreate)
	_, err = s.Create(ctx, "mutex:deploy", "0", nil)
	fmt.Println(err, errors.Is(err, driver.ErrUncertain))

	_, err = s.Create(ctx, "mutex:deploy", "0", nil)
	line, _ := s.List(ctx, "mutex:deploy")
	fmt.Println(err, len(line))
	// Output:
	// mem: create mutex:deploy: outcome unknown: connection reset true
	// <nil> 1
}

// A request lands after its sender has given it up.
func ExampleLink_Hold() {
	conn := mem.NewStore().Open("myapp")
	defer conn.Close()
	s, err := conn.OpenSession(context.Background(), 10*time.Second)
	if err != nil {
		fmt.Println(err)
		return
	}
	held := conn.Link().Hold(mem.OpCreate)

	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-held.Caught()
		cancel()
	}()
	_, err = s.Create(ctx, "mutex:deploy", "0", nil)
	fmt.Println(errors.Is(err, context.Canceled), conn.Store().Stats().Nodes)

	held.Release()
	fmt.Println(conn.Store().Stats().Nodes)
	// Output:
	// true 0
	// 1
}

// An observer, who needs no session, sees a line form and dissolve.
func ExampleConn_Watch() {
	ctx := context.Background()
	conn := mem.NewStore().Open("myapp")
	defer conn.Close()
	s, err := conn.OpenSession(ctx, 10*time.Second)
	if err != nil {
		fmt.Println(err)
		return
	}
	for line, err := range conn.Watch(ctx, "mutex:deploy") {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("in line:", len(line))
		if len(line) == 2 {
			break
		}
		_, _ = s.Create(ctx, "mutex:deploy", fmt.Sprint(len(line)), nil)
	}
	// Output:
	// in line: 0
	// in line: 1
	// in line: 2
}
