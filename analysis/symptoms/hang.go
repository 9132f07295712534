package symptoms

import (
	"time"

	"github.com/tensortap/tensortap/analysis/report"
)

// HangWaiting is how long a collective of a living run waits until it is told: within 15 s, with the way to the database.
const HangWaiting = 8 * time.Second

const hangsShown = 3

// hang tells which collectives never ended, and for which rank they waited.
func hang(_ Run, answer report.Table) (lines []string) {
	hangs := report.Hangs(answer)
	for _, h := range hangs[:min(hangsShown, len(hangs))] {
		lines = append(lines, "hang: "+report.Printable(h.Sentence))
	}
	return lines
}
