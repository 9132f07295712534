package symptoms

import (
	"cmp"
	"slices"

	"github.com/tensortap/tensortap/analysis/report"
)

// raised tells which ranks raised and went on, each by the last time.
func raised(run Run, answer report.Table) (lines []string) {
	byRank := report.Table{Columns: append([]string{"run"}, answer.Columns...)}
	for _, row := range answer.Rows {
		byRank.Rows = append(byRank.Rows, append([]report.Value{{Exact: run.Name}}, row...))
	}
	rank := slices.Index(byRank.Columns, "rank")
	if rank < 0 {
		return nil
	}
	slices.SortStableFunc(byRank.Rows, func(a, b []report.Value) int { return cmp.Compare(a[rank].Number, b[rank].Number) })
	for _, line := range report.FailureLines(byRank) {
		lines = append(lines, "raised: "+line)
	}
	return lines
}
