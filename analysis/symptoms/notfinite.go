package symptoms

import (
	"fmt"

	"github.com/tensortap/tensortap/analysis/report"
)

// notFiniteShown is how many ranks are told of that had one of their own.
const notFiniteShown = 3

// kept tells which op made the first value that is not finite, and where its tensors are, if the run was asked to look.
func kept(run Run, answer report.Table) (lines []string) {
	for i := range answer.Rows {
		if !report.IsNotFinite(answer, i) || len(lines) == notFiniteShown {
			continue
		}
		get := func(column string) string { return answer.Get(i, column).Text() }
		lines = append(lines, fmt.Sprintf("not finite: run %s: step %s, rank %s, op %s%s: %s",
			report.Printable(run.Name), get("step"), get("rank"), get("op"), ofModule(get("module")), get("message")))
	}
	return lines
}
