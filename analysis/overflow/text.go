package overflow

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
)

// Fill has the answer told as people and programs read it.
func (a *Answer) Fill(said *report.Overflow) {
	for into, record := range map[*report.Table]arrow.RecordBatch{
		&said.Origins: a.OriginTable(), &said.Summary: a.RankTable(), &said.Completeness: result.CompletenessTable([]*rows.Run{a.Run}),
	} {
		*into = report.TableOf(record)
	}
	described := &a.Run.Described
	said.Recorded = report.Recorded{Source: described.Source, Level: described.Level, Task: described.Task}
}
