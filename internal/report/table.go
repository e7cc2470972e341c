package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
)

// Cell is a count in a column of a table: so many passed of so many.
type Cell struct {
	Name       string // of the column
	Passed, Of int
}

// rowsFile holds the rows of all tables, a JSON value a line.
const rowsFile = "rows.json"

// line is a row, or a part of one.
type line struct {
	Table, Row string
	Cells      []Cell
}

// Row adds a row to a table, which Print shows when all tests have run. Cells
// given for one row and column by several calls are added up. The columns are
// in the order in which they are first given; C is a Cell by another name, so
// that who counts need not know this package.
func Row[C ~struct {
	Name       string
	Passed, Of int
}](t testing.TB, table, row string, cells []C) {
	t.Helper()
	l := line{Table: table, Row: row}
	for _, c := range cells {
		l.Cells = append(l.Cells, Cell(c))
	}
	text, err := json.Marshal(l)
	if err != nil {
		t.Fatalf("report: %v", err)
	}
	write(t, rowsFile, string(text)+"\n")
}

// tables are those of the rows read so far.
type tables struct {
	names []string // in the order of their first rows
	byRow map[string]map[string][]Cell
}

// add reads lines of rows.
func (ts *tables) add(text []byte) error {
	for row := range strings.Lines(string(text)) {
		var l line
		if err := json.Unmarshal([]byte(row), &l); err != nil {
			return fmt.Errorf("report: %q is no row: %w", row, err)
		}
		if ts.byRow == nil {
			ts.byRow = make(map[string]map[string][]Cell)
		}
		if ts.byRow[l.Table] == nil {
			ts.names = append(ts.names, l.Table)
			ts.byRow[l.Table] = make(map[string][]Cell)
		}
		ts.byRow[l.Table][l.Row] = merge(ts.byRow[l.Table][l.Row], l.Cells)
	}
	return nil
}

// merge adds up cells of the same column.
func merge(cells, more []Cell) []Cell {
	for _, m := range more {
		i := slices.IndexFunc(cells, func(c Cell) bool { return c.Name == m.Name })
		if i < 0 {
			cells = append(cells, m)
			continue
		}
		cells[i].Passed += m.Passed
		cells[i].Of += m.Of
	}
	return cells
}

// write prints the tables, each with its rows in the order of their names.
func (ts *tables) write(w io.Writer) error {
	for _, name := range ts.names {
		rows := ts.byRow[name]
		order := slices.Sorted(maps.Keys(rows))
		var columns []Cell
		for _, row := range order {
			columns = merge(columns, rows[row])
		}
		if _, err := fmt.Fprintf(w, "\n%s\n", name); err != nil {
			return err
		}
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, c := range columns {
			fmt.Fprintf(t, "\t%s", c.Name) // errors are kept for Flush
		}
		fmt.Fprintln(t)
		for _, row := range order {
			fmt.Fprint(t, row)
			for _, c := range columns {
				fmt.Fprintf(t, "\t%s", text(rows[row], c.Name))
			}
			fmt.Fprintln(t)
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// text is a cell as it is printed.
func text(cells []Cell, column string) string {
	for _, c := range cells {
		if c.Name == column && c.Of > 0 {
			return fmt.Sprintf("%d/%d", c.Passed, c.Of)
		}
	}
	return "-"
}
