package result

import (
	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/analysis/rows"
)

// RunDifference is a property that two runs differ in; an empty value is not known.
type RunDifference struct{ Property, Problem, Bench string }

// RunDifferenceTable is the report run_differences.
func RunDifferenceTable(differences []RunDifference) arrow.RecordBatch {
	return record([]column[RunDifference]{
		text("property", func(d *RunDifference) string { return d.Property }),
		text("problem", func(d *RunDifference) string { return d.Problem }),
		text("bench", func(d *RunDifference) string { return d.Bench }),
	}, differences)
}

// rankOfRun is what is known of a rank of a run.
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
	return record([]column[rankOfRun]{
		text("run", func(r *rankOfRun) string { return r.run }),
		uint32s("rank", func(r *rankOfRun) uint32 { return r.Rank }),
		bools("complete", func(r *rankOfRun) bool { return r.Complete }),
		text("explanation", func(r *rankOfRun) string { return r.Explanation }),
		uint64s("step_count", func(r *rankOfRun) uint64 { return r.Steps }),
		uint64s("incomplete_step_count", func(r *rankOfRun) uint64 { return r.IncompleteSteps }),
		uint64s("produced_row_count", func(r *rankOfRun) uint64 { return r.Produced }),
		uint64s("stored_row_count", func(r *rankOfRun) uint64 { return r.Stored }),
		uint64s("dropped_count", func(r *rankOfRun) uint64 { return r.Dropped }),
		texts("drop_reasons", func(r *rankOfRun) []string { return r.DropReasons }),
		texts("unseen", func(r *rankOfRun) []string { return r.Unseen }),
		uint64s("batch_count", func(r *rankOfRun) uint64 { return r.Batches }),
		uint64s("missing_batch_count", func(r *rankOfRun) uint64 { return r.MissingBatches }),
		uint64s("dead_letter_count", func(r *rankOfRun) uint64 { return r.DeadLetters }),
		uint64s("undefined_id_count", func(r *rankOfRun) uint64 { return r.UndefinedIDs }),
		int64s("last_event_time_ns", func(r *rankOfRun) *int64 { return r.LastEventTimeNs }),
	}, ranks)
}
