package symptoms

import (
	"fmt"
	"slices"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/steps"
)

// unfulfilledReason is the collector's, of a rank no step of which fulfilled the conditions that it was started with.
const unfulfilledReason = "no step fulfilled the condition"

// unfulfilled tells which ranks recorded nothing for their conditions, and what they saw instead.
func unfulfilled(run Run, answer report.Table) (lines []string) {
	var sentences []string
	ranks := map[string][]uint32{}
	for i := range answer.Rows {
		if answer.Get(i, "reason").Exact != unfulfilledReason {
			continue
		}
		sentence := answer.Get(i, "subject").Exact
		if !slices.Contains(sentences, sentence) {
			sentences = append(sentences, sentence)
		}
		ranks[sentence] = append(ranks[sentence], uint32(answer.Get(i, "rank").Number))
	}
	for _, sentence := range sentences[:min(ranksShown, len(sentences))] {
		slices.Sort(ranks[sentence])
		lines = append(lines, fmt.Sprintf("condition: run %s: rank %s: %s", report.Printable(run.Name), steps.Spans(ranks[sentence]), report.Printable(sentence)))
	}
	return lines
}
