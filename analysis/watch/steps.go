package watch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows/store"
	"github.com/tensortap/tensortap/internal/plural"
)

// step is a step of both runs.
type step struct {
	number  int64
	sides   [2]map[uint32]store.Standing // by rank of either run
	places  map[uint32]*place            // by rank of the problem; for ranks of the bench alone, the number that the partner would have
	changed time.Time
	dirty   bool                 // changed since its places were looked at
	said    bool                 // its line was, as it is now
	mapped  []result.StepSummary // of its places, as a map pairs them
	counted bool                 // among those that were judged
	tally   report.Tally
}

// place is a step of one rank beside its partner.
type place struct {
	at       pair.Step
	standing [2]store.Standing
	dirty    bool // not judged since it changed
	gone     bool // paired otherwise by now
	outcome  *outcome
}

// outcome is the result of all pairs of a place.
type outcome struct {
	by      *judging
	summary result.StepSummary
}

// step is the step of that number.
func (w *watch) step(number int64) *step {
	s := w.steps[number]
	if s == nil {
		s = &step{number: number, sides: [2]map[uint32]store.Standing{{}, {}}, places: map[uint32]*place{}}
		w.steps[number], w.order = s, nil
	}
	return s
}

// paired says whether both runs have the place.
func (p *place) paired() bool { return p.at.InProblem && p.at.InBench }

// ended says whether both ranks have ended the step.
func (p *place) ended() bool { return p.standing[0].Ended && p.standing[1].Ended }

// rows is the number of rows of the place, of both runs.
func (p *place) rows() uint64 { return p.standing[0].Rows + p.standing[1].Rows }

// sorted are the steps in order.
func (w *watch) sorted() []*step {
	if w.order == nil {
		w.order = slices.SortedFunc(maps.Values(w.steps), func(a, b *step) int { return cmp.Compare(a.number, b.number) })
	}
	return w.order
}

// sorted are the places that stand beside each other now, by rank.
func (s *step) sorted() []*place {
	var places []*place
	for _, rank := range slices.Sorted(maps.Keys(s.places)) {
		if p := s.places[rank]; !p.gone {
			places = append(places, p)
		}
	}
	return places
}

// alone says whether only one run has the step.
func (s *step) alone() bool { return len(s.sides[0]) == 0 || len(s.sides[1]) == 0 }

// rows is the number of rows of the step, of both runs.
func (s *step) rows() uint64 {
	var count uint64
	for _, side := range s.sides {
		for _, standing := range side {
			count += standing.Rows
		}
	}
	return count
}

// whole are the steps that can be reported, in order.
func (w *watch) whole() []*step {
	var whole []*step
	for _, s := range w.sorted() {
		rest := w.asked.Sub(s.changed)
		if s.said || s.alone() {
			continue
		}
		if rest >= w.r.Idle || rest >= w.r.Settle && len(w.lacks(s)) == 0 && w.defined(s) {
			whole = append(whole, s)
		}
	}
	return whole
}

// defined says whether the programs of a step are known, as far as they have to be aligned.
func (w *watch) defined(s *step) bool {
	definitions := w.database.Source.Definitions()
	return !slices.ContainsFunc(s.sorted(), func(p *place) bool { return !p.defined(definitions) })
}

// lacks lists the gaps of a step.
func (w *watch) lacks(s *step) []string {
	var missing []string
	for i := range w.sides {
		for _, rank := range slices.Sorted(maps.Keys(w.sides[i].ranks)) {
			if lack := lacks(s.sides[i][rank]); lack != "" {
				missing = append(missing, fmt.Sprintf("run %s rank %d: %s", w.sides[i].name, rank, lack))
			}
		}
	}
	return missing
}

// lacks lists the gaps of a rank's step; a step that never began lacks everything.
func lacks(s store.Standing) string {
	switch {
	case s.Rows == 0 && !s.Ended:
		return "nothing of the step is stored"
	case !s.Ended:
		return fmt.Sprintf("the step has not ended, %s so far", plural.Of(s.Rows, "row"))
	case s.Rows < s.Produced:
		return fmt.Sprintf("%d of %s %s missing", s.Produced-s.Rows, plural.Of(s.Produced, "row"), plural.Verb(s.Produced-s.Rows, "is", "are"))
	case s.Dropped > 0:
		return fmt.Sprintf("the rank dropped %d (%s)", s.Dropped, s.Reason)
	case !s.Complete:
		return "the step was cut short"
	}
	return ""
}

// sayStep reports a step whose places were judged.
func (w *watch) sayStep(s *step) error {
	e := &report.WatchEvent{Event: "step", Step: &s.number, Incomplete: w.lacks(s)}
	s.tally = report.Tally{}
	for _, summary := range s.summaries() {
		count(e, &s.tally, &summary)
	}
	verdict, because := s.tally.Judge(len(e.Incomplete) == 0)
	e.State, e.Because = string(verdict), because
	if verdict == report.Same {
		e.State = "agree"
	}
	if !s.counted {
		w.judged++
	}
	s.said, s.counted = true, true
	return w.tell(e)
}

// summaries are the results of the places of a step that was judged.
func (s *step) summaries() []result.StepSummary {
	if s.mapped != nil {
		return s.mapped
	}
	var all []result.StepSummary
	for _, p := range s.sorted() {
		all = append(all, p.outcome.summary)
	}
	return all
}

// count adds the result of a place to a step's line and to its tally.
func count(e *report.WatchEvent, t *report.Tally, s *result.StepSummary) {
	e.Paired += s.PairedCount
	e.OnlyProblem += s.OnlyProblemCount
	e.OnlyBench += s.OnlyBenchCount
	e.Unknown += s.UnknownCount
	e.Differing += s.DifferingCount
	if s.PairedCount > 0 {
		e.Ranks++
	}
	*t = t.Plus(report.Tally{
		Places: 1, Paired: s.PairedCount, Unknown: s.UnknownCount, Measured: s.MeasuredCount, Differing: s.DifferingCount,
		AloneUnknown: s.AloneUnknownCount, BitsDiffer: s.BitsDifferCount, SameNotFinite: s.SameNotFiniteCount,
		OnlyProblem: s.OnlyProblemCount, OnlyBench: s.OnlyBenchCount,
	})
}

// finish forgets the first steps as long as they are whole, reported and at rest: they are not looked at
// again.
func (w *watch) finish() {
	for _, s := range w.sorted() {
		if !s.said || len(w.lacks(s)) > 0 || w.asked.Sub(s.changed) < w.r.Idle {
			return
		}
		w.done = w.done.Plus(s.tally)
		delete(w.steps, s.number)
		w.order = nil
		w.from = s.number + 1
	}
}

// tally counts judged rows, and rows without a step to judge them in.
func (w *watch) tally() report.Tally {
	total := w.done
	for _, s := range w.steps {
		total = total.Plus(s.tally)
		if s.alone() {
			total = total.Plus(report.Tally{Places: 1, Unknown: s.rows(), AloneUnknown: s.rows()})
		}
	}
	return total
}

// verdict is the answer so far, and why that is unknown.
func (w *watch) verdict() (report.Verdict, string) {
	if w.first != nil {
		return report.Differs, ""
	}
	if lack := w.lacksRank(); lack != "" {
		return report.Unknown, lack
	}
	return w.tally().Judge(len(w.gaps) == 0)
}

// end is the last event.
func (w *watch) end() *report.WatchEvent {
	verdict, because := w.verdict()
	e := &report.WatchEvent{
		Event: "end", State: string(verdict), Because: because, Steps: w.judged, Incomplete: slices.Clone(w.gaps), Differing: w.tally().Differing,
	}
	if w.first != nil {
		e.Differing = max(e.Differing, 1) // of a step that was not judged as a whole
		e.Step = &w.first.step
	}
	if w.leftOut != (report.LeftOut{}) {
		e.LeftOut = &w.leftOut
	}
	for i := range w.sides {
		lone := 0
		for _, s := range w.steps {
			if len(s.sides[1-i]) == 0 {
				lone++
			}
		}
		if lone > 0 {
			e.Incomplete = append(e.Incomplete, fmt.Sprintf("%s %s only in %s", plural.Of(lone, "step"), plural.Verb(lone, "is", "are"), w.sides[i].name))
		}
	}
	return e
}
