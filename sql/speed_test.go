package sql_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/sql"
)

// Runs in parts that overlap are put side by side in the same order, also below what needs no order.
func TestPairsOfManyRowsKeepTheirOrder(t *testing.T) {
	t.Parallel()
	database := startDatabase(t)
	database.fillTwoRuns(t, 1_300_000) // several parts for each run
	answer := database.Query(t, `SELECT bench_present, count(), countIf(site_id != bench_site_id)
		FROM tap.pairs(problem = 'problem', bench = 'bench', rank = -1, first_step = 0, last_step = -1, step_offset = 0)
		GROUP BY bench_present`, "", nil)
	if want := "true\t1300000\t0\n"; answer != want {
		t.Fatalf("pairs of 1.3 million tensors = %q, want %q", answer, want)
	}
}

// fillTwoRuns stores two runs of so many tensor rows each.
func (d *database) fillTwoRuns(tb testing.TB, rows int) {
	tb.Helper()
	_ = testbed.FillTwoRuns(rows, func(statement string, parameters map[string]string) error {
		d.Query(tb, statement, "", parameters) // ends the test if it cannot
		return nil
	})
}

// The speed of a comparison of two runs of 4 ranks, 250 steps and 5,000 tensors a step: 10 million stored rows.
func BenchmarkReportsOverTenMillionRows(b *testing.B) {
	database := startDatabase(b)
	database.fillTwoRuns(b, testbed.RowsOfRun)
	for _, name := range []string{"divergence", "divergence_summary", "overflow", "completeness"} {
		report, err := sql.ReportByName(name)
		if err != nil {
			b.Fatal(err)
		}
		e := example{object: report, archive: &txtar.Archive{}}
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if answer := database.ask(b, report, e.parameters()); name != "overflow" && strings.Count(answer, "\n") < 2 {
					b.Fatalf("report %s over ten million rows answered nothing", name)
				}
			}
		})
	}
}
