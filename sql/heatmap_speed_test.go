package sql_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"golang.org/x/tools/txtar"

	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/sql"
)

// The speed of a picture of 1,024 ranks over 10,000 steps, in as many cells as the page asks for.
func BenchmarkHeatmapOfTenMillionCells(b *testing.B) {
	database := startDatabase(b)
	_ = testbed.FillDrawn("problem", func(statement string, parameters map[string]string) error {
		database.Query(b, statement, "", parameters) // ends the benchmark if it cannot
		return nil
	})
	report, err := sql.ReportByName("heatmap_ranks")
	if err != nil {
		b.Fatal(err)
	}
	e := example{object: report, archive: &txtar.Archive{}}
	for _, c := range []struct{ name, statistic, order string }{{"rms", "rms", "rank"}, {"greatest", "max", "rank"}, {"norm by tp", "l2", "tp"}, {"not finite", "not_finite_count", "rank"}} {
		b.Run(c.name, func(b *testing.B) {
			parameters := e.parameters()
			parameters["statistic"], parameters["order"], parameters["width"], parameters["height"] = c.statistic, c.order, "500", "256"
			for b.Loop() {
				answer := database.Query(b, report.Query+"\nFORMAT ArrowStream", "", parameters)
				if cells := cellsOf(b, answer); cells != 500*256 { // of 20 steps and 4 ranks each
					b.Fatalf("the picture has %d cells: want those of all ranks and steps", cells)
				}
			}
		})
	}
}

// cellsOf is how many rows a stream of Arrow has.
func cellsOf(tb testing.TB, stream string) (rows int64) {
	tb.Helper()
	reader, err := ipc.NewReader(strings.NewReader(stream))
	if err != nil {
		tb.Fatal(err)
	}
	defer reader.Release()
	for reader.Next() {
		rows += reader.RecordBatch().NumRows()
	}
	if err := reader.Err(); err != nil {
		tb.Fatal(err)
	}
	return rows
}
