package sql_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tensortap/tensortap/sql"
)

// Of 4 ranks and 1,000 steps: some tensors are not finite, some were not measured, and rank 3 skips every third step.
const (
	blockTensors = `INSERT INTO tap_store.tensor (run_id, rank, epoch, event_time_ns, step, seq, site_id, measured, element_count, value_min, value_max, value_mean, value_l2, nan_count, positive_infinity_count)
		WITH intDiv(number, 8) AS at, cityHash64(number) % 64 AS v
		SELECT xxh3(concat('problem', char(31))), number % 4, 7, 1760000000000000000, at, number % 8, number % 2, if(v = 0, 0, 511), 4,
			if(v = 1, nan, -v), if(v = 2, inf, v), v / 4, v, v = 3, v = 4
		FROM numbers(8000) WHERE NOT (number % 4 = 3 AND at % 3 = 1)`
	blockSteps = `INSERT INTO tap_store.step (run_id, rank, epoch, event_time_ns, step, tensor_count, complete)
		WITH intDiv(number, 4) AS at
		SELECT xxh3(concat('problem', char(31))), number % 4, 7, 1760000000000000000, at, if(number % 4 = 3 AND at % 3 = 1, 0, 2), 1 FROM numbers(4000)`
	blockRanks = `INSERT INTO tap_store.rank (run_id, rank, epoch, tp) SELECT xxh3(concat('problem', char(31))), number, 7, number % 2 FROM numbers(4)`
)

// A last step that ends no block of ten has the picture read step by step.
func TestAPictureOfBlocksOfStepsIsThatOfItsSteps(t *testing.T) {
	t.Parallel()
	d := startDatabase(t)
	for _, statement := range []string{blockRanks, blockSteps, blockTensors} {
		d.Query(t, statement, "", nil)
	}
	for _, statistic := range []string{"l2", "rms", "mean", "min", "max", "nan_count", "infinity_count", "not_finite_count"} {
		inBlocks := d.picture(t, statistic, "-1", "SETTINGS max_rows_to_read = 3000")
		byStep := d.picture(t, statistic, "5000", "")
		if inBlocks != byStep || strings.Count(inBlocks, "\n") != 1+2*50 {
			t.Errorf("%s of blocks of steps\n%.400s\nof single steps\n%.400s", statistic, inBlocks, byStep)
		}
	}
	d.replaced(t) // which hides that step alone, and no other of its block
	first := strings.Split(d.picture(t, "max", "-1", ""), "\n")[1]
	if want := "0\t0\t2\t0\t20\t1000\t79\t"; !strings.HasPrefix(first, want) {
		t.Errorf("the first cell is %q, want it to begin with %q: one tensor of step 5 of rank 0 in the place of two", first, want)
	}
}

// replaced observes step 5 of rank 0 once more.
func (d *database) replaced(tb testing.TB) {
	tb.Helper()
	const again = "SELECT xxh3(concat('problem', char(31))), 0, 8, 1770000000000000000, 5, 1, "
	d.Query(tb, "INSERT INTO tap_store.step (run_id, rank, epoch, event_time_ns, step, tensor_count, generation, complete) "+again+"1, 1", "", nil)
	d.Query(tb, "INSERT INTO tap_store.tensor (run_id, rank, epoch, event_time_ns, step, element_count, measured, value_max) "+again+"511, 1000", "", nil)
}

// picture is one of 50 columns and 2 rows.
func (d *database) picture(tb testing.TB, statistic, lastStep, settings string) string {
	tb.Helper()
	report, err := sql.ReportByName("heatmap_ranks")
	if err != nil {
		tb.Fatal(err)
	}
	e := example{object: report, archive: &txtar.Archive{}}
	parameters := e.parameters()
	parameters["statistic"], parameters["last_step"], parameters["width"], parameters["height"] = statistic, lastStep, "50", "2"
	return d.Query(tb, fmt.Sprintf("%s\n%s FORMAT TabSeparatedWithNames", report.Query, settings), "", parameters)
}
