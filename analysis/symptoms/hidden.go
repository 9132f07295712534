package symptoms

import (
	"fmt"

	"github.com/tensortap/tensortap/analysis/report"
)

// hidden tells which parts of models ran as compiled code or as CUDA graphs, of which nothing was recorded, and the flag that shows them.
func hidden(run Run, answer report.Table) []string {
	type part struct{ reason, subject string }
	places := map[part]int{}
	var parts []report.Hidden
	for i := range answer.Rows {
		of := part{answer.Get(i, "reason").Exact, answer.Get(i, "subject").Exact}
		if !report.Hides(of.reason) {
			continue
		}
		at, known := places[of]
		if !known {
			at = len(parts)
			places[of] = at
			parts = append(parts, report.Hidden{Reason: of.reason, Subject: of.subject})
		}
		parts[at].Ranks++
		parts[at].Steps += int(answer.Get(i, "step_count").Number)
		parts[at].Recorded += int(answer.Get(i, "recorded_step_count").Number)
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{
		fmt.Sprintf("hidden: run %s: %s; nothing of its inside was recorded", report.Printable(run.Name), report.HiddenWords(parts)),
		"  run it again with --eager to record that",
	}
}
