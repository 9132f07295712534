package report

import (
	"fmt"

	"github.com/tensortap/tensortap/internal/plural"
)

// failuresShown is the number of ranks that raised with a line of their own.
const failuresShown = 4

// FailureLines say of each rank that raised which op did so last, and how: the first ranks, then how many more.
// The table has columns run, rank, step, op, module, type and message.
func FailureLines(failures Table) []string {
	failures = Raised(failures)
	last := lastOfEach(failures)
	var lines []string
	for _, i := range last[:min(failuresShown, len(last))] {
		get := func(column string) string { return failures.Get(i, column).Text() }
		where := "in no op that is known"
		if op := get("op"); op != "" {
			where = "in op " + op
		}
		if module := get("module"); module != "" && module != "-" {
			where += " of module " + module
		}
		lines = append(lines, fmt.Sprintf("run %s rank %s: step %s, %s: %s: %s", get("run"), get("rank"), get("step"), where, get("type"), get("message")))
	}
	if more := len(last) - failuresShown; more > 0 {
		lines = append(lines, fmt.Sprintf("and %s", plural.Of(more, "further rank")))
	}
	return lines
}

// lastOfEach are the rows after which another rank begins.
func lastOfEach(failures Table) []int {
	var last []int
	for i := range failures.Rows {
		same := func(column string) bool { return failures.Get(i, column).Exact == failures.Get(i+1, column).Exact }
		if i+1 == len(failures.Rows) || !same("run") || !same("rank") {
			last = append(last, i)
		}
	}
	return last
}
