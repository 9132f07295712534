package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// TestMain lets the test binary be its own engine, as the real binary is.
func TestMain(m *testing.M) {
	testbed.ServeEngine()
	os.Exit(m.Run())
}

// database is a real engine with all tables and views.
type database struct{ *testbed.Database }

func startDatabase(tb testing.TB) *database {
	tb.Helper()
	return &database{testbed.StartDatabase(tb)}
}

// inputs are events as text, of which each test of a view or report takes some.
func inputs(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob("../../../sql/testdata/input/*.txtar")
	if err != nil || len(files) == 0 {
		tb.Fatalf("no inputs: %v", err)
	}
	return append(files, "../../../sql/testdata/completeness_report/lost.txtar", "../../../sql/testdata/completeness_report/beside.txtar", "../../../sql/testdata/completeness_report/published.txtar", "../../../sql/testdata/undefined_ids/lost.txtar")
}

func (d *database) runs(tb testing.TB) []string {
	tb.Helper()
	return strings.Fields(d.Query(tb, "SELECT DISTINCT name FROM tap_store.run ORDER BY name", "", nil))
}
