// Schema prints the statements that create the tables of a database, for an administrator.
//
//	go run ./drivers/sql/schema postgres | psql mydb
//	go run ./drivers/sql/schema mysql locks_ | mariadb mydb
//
// The second argument is what the names of the tables begin with.
package main

import (
	"fmt"
	"os"

	"github.com/coordkit/coordkit/drivers/sql"
)

func main() {
	dialects := map[string]sql.Dialect{"sqlite": sql.SQLite, "postgres": sql.Postgres, "mysql": sql.MySQL}
	args := append(os.Args, "")
	d, known := dialects[args[1]]
	if !known {
		fmt.Fprintln(os.Stderr, "schema: want sqlite, postgres or mysql, and optionally a prefix of the tables")
		os.Exit(2)
	}
	if len(os.Args) > 2 {
		d = d.Tables(os.Args[2])
	}
	fmt.Print(d.Schema())
}
