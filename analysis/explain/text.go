package explain

import (
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/result"
)

// Fill has the answer told as people and programs read it.
func (a *Answer) Fill(e *report.Explanation) {
	var places []Place
	if a.Place != nil {
		places = append(places, *a.Place)
	}
	e.Op, e.Rank, e.Step = a.Op, int64(a.At.Rank), int64(a.At.Step)
	e.Others, e.OtherCount = a.Others, a.OtherCount
	e.Rows = report.TableOf(result.ExplainTable(a.At, a.Tensors))
	e.Context = report.TableOf(result.ContextTable(a.Before))
	e.Steps = report.TableOf(result.OpStepTable(a.Steps))
	e.Place = report.TableOf(placeTable(places))
	e.Parts = report.TableOf(partTable(a.Parts))
	e.Gaps = append(e.Gaps, report.TableOf(result.CompletenessTable(a.Runs)).Gaps()...)
}
