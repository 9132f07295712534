package report

import (
	"fmt"

	"github.com/tensortap/tensortap/internal/plural"
)

// SameShapes says in a sentence which steps the report shape_diff compared and found the same, by shape_diff_summary.
func SameShapes(problem, bench string, summary Table) string {
	steps := int(summary.Sum("step_count"))
	if steps == 0 {
		return fmt.Sprintf("nothing to compare: runs %s and %s have no step in common that was recorded at level aten", Printable(problem), Printable(bench))
	}
	return fmt.Sprintf("all shapes are the same: run %s called %s of op, dtypes, shapes and strides as often as run %s in each of %s of %s, %s in all",
		Printable(problem), plural.Of(int(summary.Sum("signature_count")), "signature"), Printable(bench),
		plural.Of(steps, "step"), plural.Of(int(summary.Sum("rank_count")), "rank"), thousands(summary.Sum("problem_count"))+" calls")
}
