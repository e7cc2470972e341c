package coord_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/coordkit/coordkit/coord"
	_ "github.com/coordkit/coordkit/drivers/mem"
)

func Example() {
	ctx := context.Background()
	client, err := coord.Open(ctx, "mem://shop/orders?session_ttl=5s")
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)

	session, err := client.Session(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(session.TTL(), session.Err())
	// Output:
	// 5s <nil>
}

// A program that runs on many machines refuses a store that others do not see.
func ExampleConfig_Open() {
	_, err := coord.Config{
		URL:        "mem://shop",
		SessionTTL: coord.Duration(10 * time.Second),
		Require:    coord.CapShared,
	}.Open(context.Background())
	fmt.Println(errors.Is(err, coord.ErrUnsupported))
	// Output:
	// true
}

func ExampleFromEnv() {
	os.Setenv("SHOP_URL", "mem://shop")
	os.Setenv("SHOP_SESSION_TTL", "30s")
	config, err := coord.FromEnv("SHOP_")
	fmt.Println(config.URL, config.SessionTTL, err)
	// Output:
	// mem://shop 30s <nil>
}
