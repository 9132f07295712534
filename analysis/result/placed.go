package result

import (
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
)

// Placed says what came of one place and, where anything differs in it, what differs first. Nothing of it is collected.
// It may be called as Place may.
func (c *Collector) Placed(at pair.Step, judged []judge.Judged) (StepSummary, *FirstDifference) {
	p := newPlace(at, c, judged)
	p.count()
	if p.first < 0 {
		return p.summary, nil
	}
	first := &FirstDifference{Difference: *p.names.difference(at, &judged[p.first]), DifferingCount: p.summary.DifferingCount}
	first.ErrorIn, first.ErrorOut = p.errorsOfOp(&first.Judged)
	p.summary.First = &first.Difference
	return p.summary, first
}

// LayerOf is the layer of the model that a site is of. The path is that of the module that is the layer; empty where no
// path says it.
func (c *Collector) LayerOf(site uint64) (direction string, index int32, path string) {
	key := c.names.layer(c.names.site(site).OpID)
	return key.direction, key.index, key.path
}

// CallOf is the module that called the op of a site in a step, and the line of the user's own code that led there; 0 and
// empty where they are not known.
func (c *Collector) CallOf(at pair.Step, site uint64) (parent uint64, userFrame string) {
	n, op := c.names, c.names.site(site).OpID
	run, program := n.problem, at.ProblemProgram
	call, found := n.call(program, op)
	if !found {
		run, program = n.bench, at.BenchProgram
		call, found = n.call(program, op)
	}
	if !found {
		return 0, ""
	}
	stack := run.Stacks[rows.Call{Program: program, Position: call.Position}]
	return call.ParentOpID, n.frames.User(n.definitions.Stacks[stack])
}
