package pair

import (
	"sync"

	"github.com/tensortap/tensortap/analysis/rows"
)

// mostPlannedRows is the greatest number of rows, of both runs, in the plans that are kept for the
// next steps.
const mostPlannedRows = 4_000_000

// Rename changes which sites of the bench have partners of another name, for its tensors of a step.
type Rename func(bench *rows.Tensors, moved map[uint64]uint64) map[uint64]uint64

// Planner makes the plans of steps, and makes them once for steps that have the same. Its methods may be called at the
// same time.
type Planner struct {
	aligner *Aligner
	rename  Rename // nil where alignments have the last word

	mutex sync.Mutex
	plans map[Programs]*Plan
	rows  int // of the plans
}

// NewPlanner plans by the alignments of an aligner that has seen its samples.
func NewPlanner(aligner *Aligner) *Planner {
	return &Planner{aligner: aligner, plans: map[Programs]*Plan{}}
}

// Rename has the last word on the pairs of sites. It is set before the first plan is made.
func (p *Planner) Rename(rename Rename) { p.rename = rename }

// Plan says which rows of the tensors of a step stand beside each other; nil tensors are none.
func (p *Planner) Plan(step Step, problem, bench *rows.Tensors) *Plan {
	programs := Programs{step.ProblemProgram, step.BenchProgram}
	if plan := p.known(programs); plan != nil && plan.Fits(problem, bench) {
		return plan
	}
	var moved map[uint64]uint64
	if alignment := p.aligner.Align(programs); alignment != nil && bench != nil {
		moved = alignment.Moved(bench, p.aligner.definitions)
	}
	if p.rename != nil && bench != nil {
		moved = p.rename(bench, moved)
	}
	plan := Build(problem, bench, moved)
	p.keep(programs, plan)
	return plan
}

func (p *Planner) known(programs Programs) *Plan {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.plans[programs]
}

func (p *Planner) keep(programs Programs, plan *Plan) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if old := p.plans[programs]; old != nil {
		p.rows -= old.Len()
	}
	if p.rows+plan.Len() > mostPlannedRows {
		clear(p.plans)
		p.rows = 0
	}
	p.rows += plan.Len()
	p.plans[programs] = plan
}
