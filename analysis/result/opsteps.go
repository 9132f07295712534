package result

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/analysis/internal/column"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// OpStep counts the results of one op at one place.
type OpStep struct {
	Rank, Step     uint32
	DifferingCount uint64
	TensorCount    uint64
	UnknownCount   uint64
	UnpairedCount  uint64
	GreatestError  float64 // NaN where none is known

	inProblem bool
}

// OpSteps collects the places at which an op differs. Place may be called by several goroutines at the same
// time.
type OpSteps struct {
	op          uint64
	definitions *rows.Definitions

	mu    sync.Mutex
	steps []OpStep
}

// NewOpSteps is for an op by the problem's full name; for an op that only the bench has, by the bench's.
func NewOpSteps(op string, definitions *rows.Definitions) *OpSteps {
	return &OpSteps{op: schemas.OpID(op), definitions: definitions}
}

// Place takes the verdicts of all pairs of one rank and step.
func (s *OpSteps) Place(at pair.Step, judged []judge.Judged) {
	step := OpStep{Rank: at.Rank, Step: at.Step, GreatestError: math.NaN()}
	for i := range judged {
		if s.definitions.Sites[judged[i].Own().SiteID].OpID == s.op {
			step.add(&judged[i])
		}
	}
	if step.TensorCount == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.steps = append(s.steps, step)
}

func (s *OpStep) add(j *judge.Judged) {
	s.TensorCount++
	if j.Differs {
		s.DifferingCount++
	}
	if j.Class == judge.Unknown {
		s.UnknownCount++
	}
	if j.Class == judge.Unpaired {
		s.UnpairedCount++
	}
	s.inProblem = s.inProblem || j.InProblem
	if off := errorOf(j); !math.IsNaN(off) {
		s.GreatestError = greater(s.GreatestError, off)
	}
}

// Steps are the places that have the op, at most as many as the limit: first those that differ, then by step and rank.
func (s *OpSteps) Steps(limit int) []OpStep {
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortFunc(s.steps, func(a, b OpStep) int {
		return cmp.Or(compareTruth(a.DifferingCount == 0, b.DifferingCount == 0), compareTruth(!a.inProblem, !b.inProblem),
			cmp.Compare(a.Step, b.Step), cmp.Compare(a.Rank, b.Rank))
	})
	return slices.Clone(s.steps[:min(limit, len(s.steps))])
}

// OpStepTable are places of an op as Arrow columns.
func OpStepTable(steps []OpStep) arrow.RecordBatch {
	return column.Record([]column.Of[OpStep]{
		column.Uint32s("rank", func(s *OpStep) uint32 { return s.Rank }),
		column.Uint32s("step", func(s *OpStep) uint32 { return s.Step }),
		column.Uint64s("differing_count", func(s *OpStep) uint64 { return s.DifferingCount }),
		column.Uint64s("tensor_count", func(s *OpStep) uint64 { return s.TensorCount }),
		column.Uint64s("unknown_count", func(s *OpStep) uint64 { return s.UnknownCount }),
		column.Uint64s("unpaired_count", func(s *OpStep) uint64 { return s.UnpairedCount }),
		column.Floats("greatest_error", func(s *OpStep) (float64, bool) { return known(s.GreatestError) }),
	}, steps)
}
