// Package mutex is a lock between processes: fair, fenced, and honest about its
// loss.
//
//	err := mutex.New(client, "deploy").Do(ctx, func(ctx context.Context, token uint64) error {
//		return work(ctx, token)
//	})
//
// [Mutex.Do] is the form for most programs: the function's ctx ends with the lock and
// with the caller's ctx, and a loss is reported even if the function returned nil.
// [Mutex.Lock] is what it is made of:
//
//	held, err := mutex.New(client, "deploy").Lock(ctx)
//	if err != nil {
//		return err
//	}
//	defer held.Unlock(context.WithoutCancel(ctx)) // or with a deadline
//	work, cancel := held.Within(ctx)              // ends with the lock, and with ctx
//	defer cancel()
//
// Unlock releases also under a ctx that has ended, in the background. A program that
// ends right afterwards should wait for it, as above, or close its client with a ctx
// that lives; else the store keeps the entry for the TTL.
//
// The holder's context ends when the lock is lost, before another client can have it. A
// process that is paused cannot be told in time; against that there is the token, which
// a resource can compare (see coord.Hold.Token).
package mutex
