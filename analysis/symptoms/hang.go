package symptoms

import "github.com/tensortap/tensortap/analysis/report"

const (
	hangSeconds = "8" // of a run of which a rank still gives signs of life
	hangsShown  = 3
)

// hang tells which collectives never ended, and for which rank they waited.
func hang(_ Run, answer report.Table) (lines []string) {
	hangs := report.Hangs(answer)
	for _, h := range hangs[:min(hangsShown, len(hangs))] {
		lines = append(lines, "hang: "+report.Printable(h.Sentence))
	}
	return lines
}
