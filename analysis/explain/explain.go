// Package explain shows one op of two runs that are compared: what it took and
// gave on both sides, how that was judged, what ran before it, and what became
// of it at other steps and ranks.
package explain

import (
	"context"
	"slices"
	"strconv"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/internal/steps"
	"github.com/tensortap/tensortap/schemas"
)

// Request says which op to explain, and where.
type Request struct {
	Name       string // of an op or a module, or a part of it that only one has
	Rank, Step int64  // of the problem; -1 for the first at which the op differs
	Before     int    // ops before it to show
}

// Answer is what is known of one op.
type Answer struct {
	Op         string
	At         pair.Step
	Others     []string // further ops that the name may mean, the first ones
	OtherCount int      // how many those are, also those not in Others
	Tensors    []result.Explained
	Before     []result.Before // the op itself, then those before it, the nearest first
	Steps      []result.OpStep // places that have the op, first those at which it differs
	Place      *Place          // nil where no step that has the op has ended
	Parts      []Part          // what the ranks that were merged held
	Runs       []*rows.Run     // what is known of both, for what is missing
}

// mostPlaces is how many steps and ranks of an op are looked at.
const mostPlaces = 1000

// Run explains an op of the runs of a comparison, which looks at all their ranks and steps.
func Run(ctx context.Context, job *compare.Job, r Request) (*Answer, error) {
	var err error
	if r.Rank, err = job.Rank(r.Rank); err != nil {
		return nil, err
	}
	problem, bench := job.Runs()
	found, err := findOp(problem, bench, job.Definitions(), r.Name)
	if err != nil {
		return nil, err
	}
	a := &Answer{Op: found.op, Others: found.others, OtherCount: found.otherCount, Runs: job.Recorded()}
	counted, own := result.NewOpSteps(a.Op, job.Definitions()), &ownVerdicts{of: r}
	err = judgeOps(ctx, job, job.Steps(), []uint64{schemas.OpID(a.Op)}, func(at pair.Step, judged []judge.Judged) error {
		counted.Place(at, judged)
		own.keep(at, judged)
		return nil
	})
	if err != nil {
		return nil, err
	}
	a.Steps = counted.Steps(mostPlaces)
	chosen, err := a.choose(problem, r)
	if err != nil {
		return nil, err
	}
	return a, a.look(ctx, job, chosen, r.Before, own)
}

// choose takes the first place that was asked for: the first that differs, else the first that has the op.
func (a *Answer) choose(problem *rows.Run, r Request) (rows.Place, error) {
	var ranks, numbers []uint32
	for _, s := range a.Steps {
		if (r.Rank == -1 || r.Rank == int64(s.Rank)) && (r.Step == -1 || r.Step == int64(s.Step)) {
			return rows.Place{Rank: s.Rank, Step: s.Step}, nil
		}
		ranks, numbers = append(ranks, s.Rank), append(numbers, s.Step)
	}
	return rows.Place{}, unnamed("op %s has no tensor or other argument at rank %s, step %s of %s; ranks that have it: %s; steps: %s",
		a.Op, orAny(r.Rank), orAny(r.Step), problem.Name, spans(ranks), spans(numbers))
}

func spans(numbers []uint32) string {
	slices.Sort(numbers)
	return steps.Spans(slices.Compact(numbers))
}

func orAny(n int64) string {
	if n == -1 {
		return "any"
	}
	return strconv.FormatInt(n, 10)
}

// look judges at the chosen place what ran before the op, too, and keeps what the answer shows of it.
func (a *Answer) look(ctx context.Context, job *compare.Job, chosen rows.Place, before int, own *ownVerdicts) error {
	here := slices.DeleteFunc(slices.Clone(job.Steps()), func(at pair.Step) bool { return at.Rank != chosen.Rank || at.Step != chosen.Step })
	all, err := judgedHere(ctx, job, here, a.Op, before, own)
	if err != nil {
		return err
	}
	// What only the bench has may stand beside the place of the problem.
	slices.SortStableFunc(here, func(a, b pair.Step) int { return first(a.InProblem, b.InProblem) })
	a.tell(job, here[0], all, before)
	a.Parts, err = partsOf(ctx, job, chosen, a.Op)
	return err
}

// tell says of the op at a place what its pairs, and those of ops before it, say.
func (a *Answer) tell(job *compare.Job, at pair.Step, judged []judge.Judged, before int) {
	a.At = at
	a.Tensors = result.ExplainOp(a.Op, judged, job.Alignment(at), job.Definitions())
	a.Before = result.OpContext(a.Op, judged, before+1, job.Definitions()) // the op itself is the first
	problem, bench := job.Runs()
	chosen := rows.Place{Rank: at.Rank, Step: at.Step}
	if a.Place = placeOf(problem, job.Definitions(), a.Op, chosen); a.Place == nil {
		a.Place = placeOf(bench, job.Definitions(), a.Op, chosen)
	}
}

// Told is the answer about an op at a place whose pairs are known: its own, and those of the ops before it.
func Told(job *compare.Job, op string, at pair.Step, judged []judge.Judged, before int) *Answer {
	a := &Answer{Op: op}
	a.tell(job, at, judged, before)
	return a
}

// first puts what holds before what does not.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
