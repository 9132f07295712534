package msprobecompare_test

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/internal/cases"
	"github.com/tensortap/tensortap/analysis/msprobe/msprobecompare"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/internal/steps"
	"github.com/tensortap/tensortap/schemas"
)

// source gives the runs of a case, and what they kept.
type source struct {
	cases.Source
	kept []schemas.PayloadRow
}

// Payloads are those of a run, but for those of steps that were replaced.
func (s source) Payloads(_ context.Context, run *rows.Run) ([]schemas.PayloadRow, error) {
	var kept []schemas.PayloadRow
	for _, row := range s.kept {
		step := run.StepAt(rows.Place{Rank: row.Rank, Step: row.Step})
		if row.RunID == run.ID && (step == nil || step.Epoch == row.Epoch) {
			kept = append(kept, row)
		}
	}
	return kept, nil
}

func TestRowsAreThoseOfTheCases(t *testing.T) {
	t.Parallel()
	for _, c := range cases.In(t, "testdata/rows") {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			var got cases.Table
			err := openCase(t, c).Records(t.Context(), func(record arrow.RecordBatch) error {
				got = cases.TextOf(record)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			cases.CheckRows(t, got, c.Want)
		})
	}
}

func TestRowsOfAnOpAreThoseOfTheCases(t *testing.T) {
	t.Parallel()
	for _, c := range cases.In(t, "testdata/op") {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			record, err := openCase(t, c).OpTable(t.Context(), c.Parameters["op"])
			if err != nil {
				t.Fatal(err)
			}
			cases.CheckRows(t, cases.TextOf(record), c.Want)
		})
	}
}

func openCase(t *testing.T, c *cases.Case) *msprobecompare.Job {
	t.Helper()
	r := msprobecompare.DefaultRequest()
	r.Problem, r.Bench, r.Rank = "problem", "bench", c.Integer(t, "rank", -1)
	if step := c.Integer(t, "step", -1); step >= 0 {
		r.Steps = steps.Between(steps.Range{First: step, Last: step})
	}
	r.Raw = map[compare.PayloadPlace]*schemas.PayloadErrorRow{}
	for _, e := range cases.RowsOf[schemas.PayloadErrorRow](t, c) {
		at := compare.PayloadPlace{Rank: e.Rank, Step: e.Step, ProblemSite: e.ProblemSiteID, BenchSite: e.BenchSiteID}
		r.Raw[at] = &e
	}
	from := source{Source: cases.Source{Runs: cases.RunsOf(t, c)}, kept: cases.RowsOf[schemas.PayloadRow](t, c)}
	job, err := msprobecompare.Open(t.Context(), from, r)
	if err != nil {
		t.Fatal(err)
	}
	return job
}
