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

// memory tells whose memory grows: of each rank the counter that grows most, with the component that grows with it.
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
		report.Printable(run.Name), get("rank"), whichMemory(answer, i), get("device"), mebibytes(answer.Get(i, "growth_bytes_per_step")), get("first_step"), get("last_step"))
	if answer.Get(i, "differs").Number == 1 {
		text += fmt.Sprintf(" (its peers: %s)", mebibytes(answer.Get(i, "peers_bytes_per_step")))
	}
	if part := componentWith(answer, i); part != "" {
		text += ", in component " + part
	}
	if op := answer.Get(i, "op").Exact; op != "" {
		text += ", after " + report.Printable(op)
	}
	return text
}

// whichMemory is the counter of a row, or the component where only a part of the memory grows.
func whichMemory(answer report.Table, i int) string {
	if isWhole(answer, i) {
		return answer.Get(i, "counter").Text()
	}
	return answer.Get(i, "component").Text()
}

// componentWith is the component that grows most of the device of a row, if the row is of the whole device.
func componentWith(answer report.Table, i int) string {
	if !isWhole(answer, i) {
		return ""
	}
	for j := i + 1; j < len(answer.Rows); j++ {
		same := answer.Get(j, "rank").Text() == answer.Get(i, "rank").Text() && answer.Get(j, "device").Text() == answer.Get(i, "device").Text()
		if same && !isWhole(answer, j) {
			return answer.Get(j, "component").Text()
		}
	}
	return ""
}

func isWhole(answer report.Table, i int) bool {
	return answer.Get(i, "component").Text() == "all"
}

func mebibytes(bytes report.Value) string { return fmt.Sprintf("%.2f MiB", bytes.Number/mebibyte) }
