package pair

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/internal/steps"
	"github.com/tensortap/tensortap/schemas"
)

// LeftOut says which steps a run left out to keep its budget of time, or for conditions that they did not fulfil. The collector counts them at the step that it
// records next, and those that come after the last one at that. A gap that the counts do not fill has another reason.
type LeftOut struct {
	wanted steps.Set // by the settings of the run
	spans  map[uint32][]span
	part   map[rows.Place]bool // of these the run has the losses, as one of them was not finite
}

// span is steps that follow each other, both ends included.
type span struct{ first, last int64 }

// StepsLeftOut reads which steps a run left out.
func StepsLeftOut(run *rows.Run) LeftOut {
	l := LeftOut{wanted: wantedSteps(&run.Described), spans: map[uint32][]span{}, part: inPart(run.LeftOut)}
	counts := counted(run.LeftOut)
	if len(counts) == 0 {
		return l
	}
	var g gap
	for _, at := range inOrderOfSteps(run) {
		if at.Rank != g.rank {
			l.add(g.rank, g.first, g.count+g.over)
			g = gap{rank: at.Rank}
		}
		g.count += counts[at]
		if !l.part[at] {
			g = l.close(g, int64(at.Step))
		}
	}
	l.add(g.rank, g.first, g.count+g.over)
	return l
}

// gap is steps of a rank after one that was recorded whole.
type gap struct {
	rank  uint32
	first int64
	count int64 // of them that were left out
	over  int64 // counted at the step before, where that is the last
}

// close ends a gap before a step. Where its counts do not suffice, nothing is known of any step in it.
func (l LeftOut) close(g gap, step int64) gap {
	over := g.count - (step - g.first)
	if over >= 0 {
		l.add(g.rank, g.first, step-g.first)
	}
	return gap{rank: g.rank, first: step + 1, over: max(over, 0)}
}

// Has says whether the run left out the step.
func (l LeftOut) Has(rank uint32, step int64) bool {
	if !l.wanted.Contains(step) {
		return false
	}
	_, found := slices.BinarySearchFunc(l.spans[rank], step, func(s span, step int64) int {
		switch {
		case s.last < step:
			return -1
		case s.first > step:
			return 1
		}
		return 0
	})
	return found
}

// InPart says whether the losses of a step are recorded though it was left out.
func (l LeftOut) InPart(at rows.Place) bool { return l.part[at] }

func (l LeftOut) add(rank uint32, first, count int64) {
	if count > 0 {
		l.spans[rank] = append(l.spans[rank], span{first, first + count - 1})
	}
}

// counted are the steps that were left out before each place where any was left out for a budget or a condition, or after it.
func counted(all []schemas.UnseenRow) map[rows.Place]int64 {
	counts, whileRunning := map[rows.Place]int64{}, map[rows.Place]bool{}
	for i := range all {
		if all[i].Reason == rows.OnlyTheLoss {
			continue
		}
		at := rows.Place{Rank: all[i].Rank, Step: all[i].Step}
		counts[at] += int64(all[i].UnseenCount) //nolint:gosec // a count of steps
		// Steps that the settings number need no count. What is beside the reason is the condition.
		whileRunning[at] = whileRunning[at] || all[i].Reason == rows.BeyondTheBudget || all[i].Subject != ""
	}
	for at := range counts {
		if !whileRunning[at] {
			delete(counts, at)
		}
	}
	return counts
}

// inPart are the places of which the losses alone are recorded.
func inPart(all []schemas.UnseenRow) map[rows.Place]bool {
	part := map[rows.Place]bool{}
	for i := range all {
		if all[i].Reason == rows.OnlyTheLoss {
			part[rows.Place{Rank: all[i].Rank, Step: all[i].Step}] = true
		}
	}
	return part
}

func inOrderOfSteps(run *rows.Run) []rows.Place {
	places := placed(run)
	slices.SortFunc(places, func(a, b rows.Place) int { return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Step, b.Step)) })
	return slices.Compact(places)
}

// wantedSteps are those of the setting steps; all where it is not known.
func wantedSteps(described *schemas.RunRow) steps.Set {
	var settings struct {
		Steps string `json:"steps"`
	}
	if json.Unmarshal([]byte(described.Config), &settings) != nil || settings.Steps == "" {
		return steps.All()
	}
	wanted, err := steps.Parse(settings.Steps)
	if err != nil {
		return steps.All()
	}
	return wanted
}
