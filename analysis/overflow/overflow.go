// Package overflow says where in one run NaN or infinity began, over all its
// ranks. Places are read window by window, and of each rank only its first
// tensor that is not finite is kept, so that memory does not grow with the run.
package overflow

import (
	"context"
	"fmt"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/origin"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/internal/steps"
	"github.com/tensortap/tensortap/schemas"
)

// Request says in which run to look, and where.
type Request struct {
	Run        string
	Rank       int64 // -1 for all
	Steps      steps.Set
	Exceptions []judge.Exception // those of the user, beside the ones that hold always
}

// Answer is what is known of NaN and infinity in a run.
type Answer struct {
	Run     *rows.Run
	Origins []Origin // by their place in the step, then rank
	Ranks   []Rank   // that have any tensors, by rank
}

// Origin is the first tensor, or other argument, of a rank that is not finite, where no other rank's precedes it.
type Origin struct {
	rows.Observation
	Rank, Step             uint32
	Op, Module, Role, Path string
	Kind                   origin.Kind        // UnseenInput for a loss; Data also for what else came from an op that was not recorded
	Parameter              string             // of the calling module that has the very values
	Layout                 *schemas.LayoutRow // never nil: the zero row where it is not known
	UserFrame              string             // line of the user's own code from which the op was called
	NotFinite              uint64             // of the rank, all steps
	Concurrent             int                // how many origins there are: nothing recorded tells which was first
}

// Rank counts what a rank recorded. Only of what was measured can it be said whether it is finite.
type Rank struct {
	Rank                  uint32
	Steps, Rows, Measured uint64
	NotFinite             uint64
	Excused               uint64 // not finite, and known to be no fault

	first first
}

// first is a rank's first tensor that is not finite and no known exception.
type first struct {
	found bool
	at    rows.Place
	row   rows.Observation
}

// Run looks for NaN and infinity. An exception that cannot be read is a *judge.MalformedExceptionError.
func Run(ctx context.Context, source rows.Source, r Request) (*Answer, error) {
	run, err := source.Run(ctx, r.Run)
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", r.Run, err)
	}
	if err := run.CheckRank(r.Rank); err != nil {
		return nil, err
	}
	rules, err := judge.New(judge.Config{Exceptions: r.Exceptions}, run, run, source.Definitions())
	if err != nil {
		return nil, err
	}
	j := &job{source: source, run: run, definitions: source.Definitions(), rules: rules, ranks: map[uint32]*Rank{}}
	if err := j.each(ctx, j.wanted(r), j.count); err != nil {
		return nil, err
	}
	answer := &Answer{Run: run, Ranks: j.sorted()}
	answer.Origins, err = j.origins(ctx, answer.Ranks)
	return answer, err
}

// job is a search that is under way.
type job struct {
	source      rows.Source
	run         *rows.Run
	definitions *rows.Definitions
	rules       *judge.Rules
	ranks       map[uint32]*Rank
}

// wanted are the places that a request asks for.
func (j *job) wanted(r Request) []rows.Place {
	return j.places(func(at rows.Place) bool {
		return (r.Rank < 0 || int64(at.Rank) == r.Rank) && r.Steps.Contains(int64(at.Step))
	})
}

// places are those of the run that are chosen, whether their step has ended or not.
func (j *job) places(chosen func(rows.Place) bool) []rows.Place {
	var some []rows.Place
	add := func(at rows.Place) {
		if chosen(at) {
			some = append(some, at)
		}
	}
	for i := range j.run.Steps {
		add(rows.Place{Rank: j.run.Steps[i].Rank, Step: j.run.Steps[i].Step})
	}
	for _, at := range j.run.Open {
		add(at)
	}
	return some
}

// each reads places window by window, and hands on those that have tensors.
func (j *job) each(ctx context.Context, places []rows.Place, visit func(rows.Place, *rows.Tensors)) error {
	weight := j.run.Weights()
	for _, window := range rows.Windows(places, func(at rows.Place) uint64 { return weight[at] }) {
		tensors, err := j.source.Tensors(ctx, j.run, window)
		if err != nil {
			return err
		}
		for _, at := range window {
			if tensors[at].Len() > 0 {
				visit(at, tensors[at])
			}
		}
	}
	return nil
}
