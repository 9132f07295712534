package merge

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// missing says of each merged rank which of its parts lack rows.
func (m *Merger) missing(steps []schemas.StepRow) []rows.Completeness {
	known := map[uint32]*rows.Completeness{}
	for i := range m.run.Missing {
		known[m.run.Missing[i].Rank] = &m.run.Missing[i]
	}
	list := make([]rows.Completeness, 0, len(m.groups))
	for _, g := range m.groups {
		list = append(list, missingOf(g, known, steps))
	}
	slices.SortFunc(list, func(a, b rows.Completeness) int { return int(a.Rank) - int(b.Rank) })
	return list
}

func missingOf(g pair.Group, known map[uint32]*rows.Completeness, steps []schemas.StepRow) rows.Completeness {
	sum := rows.Completeness{Rank: g.Leader}
	var explanations []string
	for _, rank := range g.Ranks {
		part := known[rank]
		if part == nil {
			continue
		}
		add(&sum, part)
		if !part.Complete {
			explanations = append(explanations, fmt.Sprintf("rank %d: %s", rank, part.Explanation))
		}
	}
	for i := range steps {
		if steps[i].Rank == g.Leader {
			sum.Steps++
			sum.IncompleteSteps += 1 - uint64(min(steps[i].Complete, 1))
		}
	}
	if len(explanations) == 0 && sum.IncompleteSteps > 0 {
		explanations = append(explanations, fmt.Sprintf("%d steps were cut short", sum.IncompleteSteps))
	}
	sum.Explanation = strings.Join(explanations, ", ")
	sum.Complete = sum.Explanation == ""
	return sum
}

// add sums up the counts of a part. Steps are those of the whole.
func add(sum, part *rows.Completeness) {
	sum.Produced += part.Produced
	sum.Stored += part.Stored
	sum.Dropped += part.Dropped
	sum.Batches += part.Batches
	sum.MissingBatches += part.MissingBatches
	sum.DeadLetters += part.DeadLetters
	sum.UndefinedIDs += part.UndefinedIDs
	sum.UnstoredSteps += part.UnstoredSteps
	sum.DropReasons = union(sum.DropReasons, part.DropReasons)
	sum.Unseen = union(sum.Unseen, part.Unseen)
	sum.LastEventTimeNs = greatest(sum.LastEventTimeNs, part.LastEventTimeNs)
}

func union(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}
