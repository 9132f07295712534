package result

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
)

// unseenBefore says in words which forwards neither run observed up to the step of a first difference; empty where all were.
func (c *Collector) unseenBefore(at pair.Step) string {
	var parts []string
	for _, side := range []struct {
		name       string
		run        *rows.Run
		rank, step uint32
	}{{"problem", c.names.problem, at.Rank, at.Step}, {"bench", c.names.bench, at.BenchRank, at.BenchStep}} {
		if said := unseenOf(side.run, side.rank, side.step); said != "" {
			parts = append(parts, side.name+": "+said)
		}
	}
	return strings.Join(parts, "; ")
}

// hidesForwards says whether a reason means that ops ran unseen.
func hidesForwards(reason string) bool {
	return slices.Contains([]string{"compiled", "cuda graph", "other thread", "hook error", "dropped"}, reason)
}

// unseenOf counts the gaps of a rank up to a step, the first few by reason and subject.
func unseenOf(run *rows.Run, rank, step uint32) string {
	counts := map[string]uint64{}
	var order []string
	for i := range run.Unseen {
		u := &run.Unseen[i]
		if u.Rank != rank || u.Step > step || !hidesForwards(u.Reason) {
			continue
		}
		what := strings.TrimSpace(u.Reason + " " + u.Subject)
		if _, known := counts[what]; !known {
			order = append(order, what)
		}
		counts[what] += u.UnseenCount
	}
	const most = 4
	words := make([]string, 0, most+1)
	for _, what := range order[:min(most, len(order))] {
		words = append(words, fmt.Sprintf("%s %d times", what, counts[what]))
	}
	if more := len(order) - most; more > 0 {
		words = append(words, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(words, ", ")
}
