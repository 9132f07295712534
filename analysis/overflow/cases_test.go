package overflow_test

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/analysis/internal/cases"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/overflow"
	"github.com/tensortap/tensortap/internal/steps"
	"github.com/tensortap/tensortap/schemas"
)

func TestOriginsAreThoseOfTheCases(t *testing.T) {
	t.Parallel()
	checkCases(t, cases.In(t, "testdata/origins"), (*overflow.Answer).OriginTable)
}

func TestRanksAreCountedAsTheDatabaseDoes(t *testing.T) {
	t.Parallel()
	checkCases(t, cases.All(t, "overflow_summary_report"), (*overflow.Answer).RankTable)
}

func checkCases(t *testing.T, all []*cases.Case, table func(*overflow.Answer) arrow.RecordBatch) {
	t.Helper()
	for _, c := range all {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			answer, err := overflow.Run(t.Context(), cases.Source{Runs: runsOf(t, c)}, requestOf(t, c))
			if err != nil {
				t.Fatal(err)
			}
			cases.CheckRows(t, cases.TextOf(table(answer)), c.Want)
		})
	}
}

func runsOf(t *testing.T, c *cases.Case) *cases.Runs {
	t.Helper()
	runs := cases.RunsOf(t, c)
	for _, op := range runs.Definitions.Ops {
		op.Name = strings.NewReplacer(`\\`, `\`, `\t`, "\t", `\n`, "\n").Replace(op.Name) // cases are written as the database escapes them
	}
	return runs
}

func requestOf(t *testing.T, c *cases.Case) overflow.Request {
	t.Helper()
	r := overflow.Request{Run: "problem", Rank: c.Integer(t, "rank", -1)}
	r.Steps = steps.Between(steps.Range{First: c.Integer(t, "first_step", 0), Last: c.Integer(t, "last_step", -1)})
	for _, e := range cases.RowsOf[schemas.KnownExceptionRow](t, c) {
		r.Exceptions = append(r.Exceptions, judge.Exception{API: e.API, Role: e.Role, Path: e.Path, Sort: e.Sort, Why: e.Why})
	}
	return r
}
