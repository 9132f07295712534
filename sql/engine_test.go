package sql_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
	"github.com/tensortap/tensortap/sql"
)

// TestMain lets the test binary be its own engine, as the real binary is.
func TestMain(m *testing.M) {
	testbed.ServeEngine()
	os.Exit(m.Run())
}

// database is a real engine with all tables, views and reports, spoken to as a reader of reports does: in tab-separated
// text, which keeps nan and inf.
type database struct{ *testbed.Database }

func startDatabase(tb testing.TB) *database {
	tb.Helper()
	d := &database{testbed.StartDatabase(tb)}
	d.Query(tb, "SYSTEM STOP VIEW tap_store.trend_fill", "", nil) // what is in its table is up to the cases
	d.Query(tb, "SYSTEM STOP MERGES", "", nil)                    // a definition that came twice stays so
	return d
}

func (d *database) ask(tb testing.TB, object sql.Object, parameters map[string]string) string {
	tb.Helper()
	return d.Query(tb, answer(object)+"\nFORMAT TabSeparatedWithNames", "", parameters)
}

// load replaces the content of all tables.
func (d *database) load(tb testing.TB, tables map[string]string) {
	tb.Helper()
	d.Empty(tb)
	for _, table := range schemas.Tables() {
		rows, found := tables[table.Kind()]
		if !found {
			continue
		}
		d.Insert(tb, table.Kind(), rows)
		if table.Class == schemas.Definition {
			d.Insert(tb, table.Kind(), withoutFirst(rows))
		}
	}
	for _, table := range []string{"trend", "removal"} {
		if rows, found := tables[table]; found {
			d.Insert(tb, table, rows)
		}
	}
}

// withoutFirst leaves out the first row: definitions come as often as runs that use them are published, one more often
// than another, and until parts are merged all of them are there.
func withoutFirst(rows string) string {
	columns, rest, _ := strings.Cut(rows, "\n")
	_, rest, _ = strings.Cut(rest, "\n")
	return columns + "\n" + rest
}
