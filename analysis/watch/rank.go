package watch

import (
	"fmt"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/internal/steps"
)

// otherRanks are the ranks of the problem where the one that was asked for is not among them; else it is empty.
func (w *watch) otherRanks() string {
	if w.r.Compare.Rank < 0 || w.follower == nil {
		return ""
	}
	var numbers []int64
	for _, rank := range w.follower.Runs()[0].Run.Ranks {
		if int64(rank.Rank) == w.r.Compare.Rank {
			return ""
		}
		numbers = append(numbers, int64(rank.Rank))
	}
	return steps.Spans(numbers)
}

// sayRank reports that the rank is waited for, and which there are: one that was mistyped never comes.
func (w *watch) sayRank() error {
	others := w.otherRanks()
	if (others != "") == w.rankAwaited {
		return nil
	}
	w.rankAwaited = others != ""
	e := &report.WatchEvent{Event: "going_on", For: fmt.Sprintf("rank %d of run %s", w.r.Compare.Rank, w.r.Compare.Problem)}
	if w.rankAwaited {
		e.Event = "waiting"
		e.For += ", which has no such rank; its ranks: " + others
	}
	return w.tell(e)
}

// lacksRank says that the rank never came; it is empty where it did, or all are asked for.
func (w *watch) lacksRank() string {
	others := w.otherRanks()
	if others == "" {
		return ""
	}
	return fmt.Sprintf("run %s has no rank %d; its ranks: %s", w.r.Compare.Problem, w.r.Compare.Rank, others)
}
