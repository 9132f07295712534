package result

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/analysis/internal/column"
	"github.com/tensortap/tensortap/analysis/rows"
)

// RunDifference is a property that two runs differ in; an empty value is not known.
type RunDifference struct{ Property, Problem, Bench, Effect string }

// RunDifferenceTable is the report run_differences.
func RunDifferenceTable(differences []RunDifference) arrow.RecordBatch {
	return column.Record([]column.Of[RunDifference]{
		column.Text("property", func(d *RunDifference) string { return d.Property }),
		column.Text("problem", func(d *RunDifference) string { return d.Problem }),
		column.Text("bench", func(d *RunDifference) string { return d.Bench }),
		column.Text("effect", func(d *RunDifference) string { return d.Effect }),
	}, differences)
}

// rankOfRun has the facts about a rank of a run.
type rankOfRun struct {
	run string
	rows.Completeness
}

// CompletenessTable is the report completeness of some runs.
func CompletenessTable(runs []*rows.Run) arrow.RecordBatch {
	var ranks []rankOfRun
	for _, run := range runs {
		for i := range run.Missing {
			ranks = append(ranks, rankOfRun{run.Name, run.Missing[i]})
		}
	}
	return column.Record([]column.Of[rankOfRun]{
		column.Text("run", func(r *rankOfRun) string { return r.run }),
		column.Uint32s("rank", func(r *rankOfRun) uint32 { return r.Rank }),
		column.Truths("complete", func(r *rankOfRun) bool { return r.Complete }),
		column.Text("explanation", func(r *rankOfRun) string { return r.Explanation }),
		column.Uint64s("step_count", func(r *rankOfRun) uint64 { return r.Steps }),
		column.Uint64s("incomplete_step_count", func(r *rankOfRun) uint64 { return r.IncompleteSteps }),
		column.Uint64s("produced_row_count", func(r *rankOfRun) uint64 { return r.Produced }),
		column.Uint64s("stored_row_count", func(r *rankOfRun) uint64 { return r.Stored }),
		column.Uint64s("dropped_count", func(r *rankOfRun) uint64 { return r.Dropped }),
		column.Texts("drop_reasons", func(r *rankOfRun) []string { return r.DropReasons }),
		column.Texts("unseen", func(r *rankOfRun) []string { return r.Unseen }),
		column.Uint64s("batch_count", func(r *rankOfRun) uint64 { return r.Batches }),
		column.Uint64s("missing_batch_count", func(r *rankOfRun) uint64 { return r.MissingBatches }),
		column.Uint64s("dead_letter_count", func(r *rankOfRun) uint64 { return r.DeadLetters }),
		column.Uint64s("undefined_id_count", func(r *rankOfRun) uint64 { return r.UndefinedIDs }),
		column.Uint64s("unstored_step_count", func(r *rankOfRun) uint64 { return r.UnstoredSteps }),
		column.Int64s("last_event_time_ns", func(r *rankOfRun) *int64 { return r.LastEventTimeNs }),
	}, ranks)
}
