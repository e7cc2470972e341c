package register_test

import (
	"fmt"

	"github.com/coordkit/coordkit/internal/storetest/register"
)

// A holder that does not know yet that the lock is another's.
func Example() {
	log := register.Log{Object: new(register.Fenced)}
	log.Do(0, register.Op{Token: 1, Write: true, Value: 10})
	log.Do(1, register.Op{Token: 2, Write: true, Value: 20})
	answer, entry := log.Do(0, register.Op{Token: 1, Write: true, Value: 11})
	fmt.Println("refused:", answer.Refused, register.Check(log.Entries()))

	log.Held(entry) // it did hold the lock
	fmt.Println(register.Check(log.Entries()))
	// Output:
	// refused: true <nil>
	// the register's log is not in order: after 2 operations, the last of them
	//   [1, 2] client 0 with token 1 writes 10
	//   [3, 4] client 1 with token 2 writes 20
	// none of these can follow:
	//   [5, 6] client 0 with token 1 writes 11, refused, holding the lock
}
