package sql_test

import (
	"strconv"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tensortap/tensortap/sql"
)

// Of the run that is drawn: a tensor of each rank and step.
const (
	drawnRanks  = 1024
	drawnSteps  = 10_000
	stepsAtOnce = 1000
)

// fillDrawn stores a run of a tensor for each rank and step. Each rank publishes a hundred steps in a batch.
func (d *database) fillDrawn(tb testing.TB) {
	tb.Helper()
	const run = "xxh3(concat('problem', char(31)))"
	d.Query(tb, "INSERT INTO tap_store.run (run_id, epoch, name, event_time_source) SELECT "+run+", 7, 'problem', 'rank'", "", nil)
	d.Query(tb, "INSERT INTO tap_store.rank (run_id, rank, epoch, tp, pp, dp) SELECT "+run+", number, 7, number % 8, intDiv(number, 8) % 4, intDiv(number, 32) FROM numbers({ranks:UInt64})",
		"", map[string]string{"ranks": strconv.Itoa(drawnRanks)})
	for from := 0; from < drawnSteps; from += stepsAtOnce {
		part := map[string]string{"ranks": strconv.Itoa(drawnRanks), "from": strconv.Itoa(from), "count": strconv.Itoa(drawnRanks * stepsAtOnce)}
		d.Query(tb, `INSERT INTO tap_store.tensor (run_id, rank, epoch, batch, event_time_ns, step, seq, site_id, layout_id, measured, element_count, value_min, value_max, value_mean, value_l2)
			WITH 1 + toFloat64(cityHash64(number, {from:UInt64}) % 1000) / 1000 AS v, {from:UInt64} + intDiv(number, {ranks:UInt64}) AS at
			SELECT `+run+`, number % {ranks:UInt64}, 7, intDiv(at, 100), 1760000000000000000, at, at, cityHash64(0), 1, 23, 65536, -v, v, v / 100, 256 * v FROM numbers({count:UInt64})`, "", part)
		d.Query(tb, `INSERT INTO tap_store.step (run_id, rank, epoch, batch, event_time_ns, step, op_count, tensor_count, complete)
			WITH {from:UInt64} + intDiv(number, {ranks:UInt64}) AS at
			SELECT `+run+`, number % {ranks:UInt64}, 7, intDiv(at, 100), 1760000000000000000, at, 1, 1, 1 FROM numbers({count:UInt64})`, "", part)
	}
}

// The speed of a picture of 1,024 ranks over 10,000 steps, in as many cells as the page asks for.
func BenchmarkHeatmapOfTenMillionCells(b *testing.B) {
	database := startDatabase(b)
	database.fillDrawn(b)
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
				if answer := database.Query(b, report.Query+"\nFORMAT ArrowStream", "", parameters); len(answer) < 1_000_000 {
					b.Fatalf("the picture has %d bytes: want cells of all ranks and steps", len(answer))
				}
			}
		})
	}
}
