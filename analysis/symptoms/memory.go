package symptoms

import (
	"fmt"
	"strconv"

	"github.com/tensortap/tensortap/analysis/report"
)

const (
	ranksShown   = 3
	stepsToTrust = 50 // in fewer steps a program may still be taking what it keeps
	mebibyte     = 1 << 20
)

// memory tells whose memory grows: of each rank the counter that grows most.
func memory(run Run, answer report.Table) (lines []string) {
	told := map[string]bool{}
	for i := range answer.Rows {
		rank := answer.Get(i, "rank").Text()
		if told[rank] || answer.Get(i, "step_count").Number < stepsToTrust {
			continue
		}
		told[rank] = true
		if len(told) <= ranksShown {
			lines = append(lines, "memory: "+growth(run, answer, i))
		}
	}
	if more := len(told) - ranksShown; more > 0 {
		lines = append(lines, "  and of "+strconv.Itoa(more)+" more ranks")
	}
	return lines
}

func growth(run Run, answer report.Table, i int) string {
	get := func(column string) string { return answer.Get(i, column).Text() }
	text := fmt.Sprintf("run %s: rank %s: %s memory of %s grows by %s a step from step %s to %s",
		report.Printable(run.Name), get("rank"), get("counter"), get("device"), mebibytes(answer.Get(i, "growth_bytes_per_step")), get("first_step"), get("last_step"))
	if answer.Get(i, "differs").Number == 1 {
		text += fmt.Sprintf(" (its peers: %s)", mebibytes(answer.Get(i, "peers_bytes_per_step")))
	}
	if op := answer.Get(i, "op").Exact; op != "" {
		text += ", after " + report.Printable(op)
	}
	return text
}

func mebibytes(bytes report.Value) string { return fmt.Sprintf("%.2f MiB", bytes.Number/mebibyte) }
