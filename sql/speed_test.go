package sql_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tensortap/tensortap/sql"
)

// The speed of a comparison of two runs of 4 ranks, 250 steps and 5,000 tensors a step: 10 million stored rows.
// From the fourth step on, half of the problem's tensors differ by up to 1 %.
const fillRun = `INSERT INTO tap_store.tensor
    (run_id, rank, epoch, batch, event_time_ns, step, seq, site_id, layout_id, measured, element_count, value_min, value_max, value_mean, value_l2)
SELECT
    xxh3(concat({run:String}, char(31))), intDiv(number, 1250000), 7, intDiv(number % 1250000, 50000),
    1760000000000000000, intDiv(number, 5000) % 250, number % 1250000,
    cityHash64(number % 5000), cityHash64('layout', number % 40), 23, 65536,
    -3 * v, 3.2 * v, v / 100, 256 * v
FROM (
    SELECT
        number,
        (toFloat64(cityHash64(number)) / 18446744073709551616. + 0.01)
            * if({run:String} = 'problem' AND number % 5000 > 2500 AND intDiv(number, 5000) % 250 >= 3, 1 + cityHash64(number, 1) % 1000 / 1e5, 1) AS v
    FROM numbers({from:UInt64}, 1250000)
)`

func BenchmarkReportsOverTenMillionRows(b *testing.B) {
	database := startDatabase(b)
	for _, run := range []string{"problem", "bench"} {
		for _, from := range []string{"0", "1250000", "2500000", "3750000"} {
			database.query(b, fillRun, "", map[string]string{"run": run, "from": from})
		}
	}
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
