package sql_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/sql"
)

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
