package sql_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows/store"
	"github.com/tensortap/tensortap/internal/dev/testbed"
)

// norms are the numbers of a pair that the view and the judge both have.
type norms struct{ problem, bench, difference float64 }

// TestPairsAreThoseOfTheJudge holds the view against the judge where the programs are the same: it has the same pairs with
// the same norms, and what the judge says by statistics is never less than the difference of the norms.
func TestPairsAreThoseOfTheJudge(t *testing.T) {
	t.Parallel()
	database := startDatabase(t)
	for _, input := range []string{"plain", "duplicate", "not_finite"} {
		database.Load(t, "testdata/input/"+input+".txtar")
		checkPairs(t, database, 6)
	}
	database.Empty(t)
	database.fillTwoRuns(t, 50_000)
	checkPairs(t, database, 50_000)
}

func checkPairs(t *testing.T, d *database, count int) {
	t.Helper()
	shown, judged := shownPairs(t, d), judgedPairs(t, d.Database)
	if len(shown) != count || len(judged) != count {
		t.Fatalf("the view has %d pairs and the judge %d, want %d", len(shown), len(judged), count)
	}
	byStatistics := 0
	for place, j := range judged {
		view := shown[place]
		if !same(view.problem, j.Problem.L2) || !same(view.bench, j.Bench.L2) {
			t.Fatalf("at %s the view has norms %v and %v, the judge %v and %v", place, view.problem, view.bench, j.Problem.L2, j.Bench.L2)
		}
		if j.Evidence != judge.EvidenceStatistics {
			continue
		}
		byStatistics++
		if j.Error < view.difference { // false where one is not a number
			t.Errorf("at %s the norms differ by %v, and the judge says %v", place, view.difference, j.Error)
		}
		if j.Error == 0 && view.difference != 0 || j.Problem.L2 > j.Bench.L2 && view.difference == 0 {
			t.Errorf("at %s norms %v and %v are said to differ by %v", place, j.Problem.L2, j.Bench.L2, view.difference)
		}
	}
	if byStatistics == 0 {
		t.Error("no pair is judged by statistics")
	}
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

// shownPairs are the rows of the view, by place.
func shownPairs(t *testing.T, d *database) map[string]norms {
	t.Helper()
	shown := map[string]norms{}
	for line := range strings.Lines(d.Query(t, `
		SELECT concat(toString(rank), ' ', toString(step), ' ', toString(micro_step), ' ', toString(seq)), problem_l2, bench_l2, l2_relative_difference
		FROM tap.pairs(problem = 'problem', bench = 'bench')
		WHERE problem_element_count IS NOT NULL AND bench_element_count IS NOT NULL`, "", nil)) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		var values [3]float64
		for i, cell := range cells[1:] {
			var err error
			if values[i], err = strconv.ParseFloat(cell, 64); err != nil {
				t.Fatal(err)
			}
		}
		shown[cells[0]] = norms{values[0], values[1], values[2]}
	}
	return shown
}

// judgedPairs are the verdicts on all pairs, by place.
func judgedPairs(t *testing.T, d *testbed.Database) map[string]judge.Judged {
	t.Helper()
	request := compare.DefaultRequest()
	request.Problem, request.Benches = "problem", []string{"bench"}
	job, err := compare.Open(t.Context(), store.Open(d.Conn), request)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]judge.Judged{}
	var mutex sync.Mutex
	err = job.Judge(t.Context(), job.Steps(), func(_ pair.Step, judged []judge.Judged) error {
		mutex.Lock()
		defer mutex.Unlock()
		for _, j := range judged {
			all[fmt.Sprint(j.Rank, j.Step, j.Problem.MicroStep, j.Problem.Seq)] = j
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
