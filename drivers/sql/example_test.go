package sql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/coordkit/coordkit/coord"
	"github.com/coordkit/coordkit/coord/driver"
	coordsql "github.com/coordkit/coordkit/drivers/sql"
	"github.com/coordkit/coordkit/recipes/mutex"
)

// scratch returns a directory for the files of an example.
func scratch() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	return dir, func() { _ = os.RemoveAll(dir) }
}

// The processes of a machine share a file. It need not be there.
func Example() {
	dir, remove := scratch()
	defer remove()
	ctx := context.Background()
	client, err := coord.Open(ctx, "sqlite://"+filepath.Join(dir, "locks.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	err = mutex.New(client, "deploy").Do(ctx, func(ctx context.Context, token uint64) error {
		fmt.Println("holds it with token", token)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// holds it with token 1
}

// A transaction on the database that holds the locks fails if the lock was lost.
func ExampleFence() {
	dir, remove := scratch()
	defer remove()
	ctx := context.Background()
	path := filepath.Join(dir, "app.db")
	client, err := coord.Open(ctx, "sqlite://"+path)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close(ctx)
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	work := func(token uint64) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := coordsql.Fence(ctx, tx, coordsql.SQLite, token); err != nil {
			return err
		}
		// … the work
		return tx.Commit()
	}
	held, err := mutex.New(client, "deploy").Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(work(held.Token()))
	if err := held.Unlock(ctx); err != nil {
		log.Fatal(err)
	}
	err = work(held.Token())
	fmt.Println(err)
	fmt.Println(errors.Is(err, driver.ErrGone))
	// Output:
	// <nil>
	// sqlite: fence token 1: node is gone: the lock is not held any more
	// true
}

// The locks may be on any store. The gate is a table in the database that they protect.
func ExampleGate() {
	dir, remove := scratch()
	defer remove()
	ctx := context.Background()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "app.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(ctx, coordsql.SQLite.GateSchema()); err != nil {
		log.Fatal(err)
	}
	work := func(token uint64) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		if err := coordsql.Gate(ctx, tx, coordsql.SQLite, "deploy", token); err != nil {
			return err
		}
		// … the work
		return tx.Commit()
	}
	fmt.Println(work(41))
	fmt.Println(work(42))
	fmt.Println(work(41)) // late
	// Output:
	// <nil>
	// <nil>
	// sqlite: gate token 41: node is gone: the lock is not held any more
}
