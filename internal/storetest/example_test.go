package storetest

import "fmt"

func Example() {
	fmt.Println("go test -v ./internal/storetest")
	// Output:
	// go test -v ./internal/storetest
}
