package result

import (
	"slices"
	"sync"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/origin"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// names resolves ids. Its methods may be called at the same time.
type names struct {
	problem, bench *rows.Run
	definitions    *rows.Definitions
	frames         *origin.Frames
	parents        func() map[uint64]uint64 // of the ops of the problem, by op
	benchParents   func() map[uint64]uint64

	mu       sync.Mutex
	programs map[uint64]map[uint64]int // index of each op in its program
	seen     []*sights                 // of earlier places, no longer in use
}

func newNames(problem, bench *rows.Run, definitions *rows.Definitions) *names {
	n := &names{
		problem: problem, bench: bench, definitions: definitions, frames: origin.NewFrames(),
		programs: map[uint64]map[uint64]int{},
	}
	n.parents = sync.OnceValue(func() map[uint64]uint64 { return parentsIn(definitions, problem) })
	n.benchParents = sync.OnceValue(func() map[uint64]uint64 { return parentsIn(definitions, bench) })
	return n
}

// parentsIn are the modules that the ops of a run ran in; where its programs differ in that, always the same one.
func parentsIn(definitions *rows.Definitions, run *rows.Run) map[uint64]uint64 {
	parents, seen := map[uint64]uint64{}, map[uint64]bool{}
	for i := range run.Steps {
		id := run.Steps[i].ProgramID
		if seen[id] {
			continue
		}
		seen[id] = true
		for _, row := range definitions.Programs[id] {
			parents[row.OpID] = max(parents[row.OpID], row.ParentOpID)
		}
	}
	return parents
}

// parent is the module that an op ran in at a place; where the step has not ended, in any of the run's programs.
func (n *names) parent(at pair.Step, op uint64, ofBench bool) uint64 { //nolint:revive // the side is no control flag
	program, parents := at.ProblemProgram, n.parents
	if ofBench {
		program, parents = at.BenchProgram, n.benchParents
	}
	if call, found := n.call(program, op); found {
		return call.ParentOpID
	}
	return parents()[op]
}

func (n *names) site(id uint64) schemas.SiteRow { return n.definitions.Sites[id] }

func (n *names) op(id uint64) *schemas.OpRow { return n.definitions.Op(id) }

func (n *names) layout(id uint64) *schemas.LayoutRow { return n.definitions.LayoutOrZero(id) }

// call is the row of an op in a program.
func (n *names) call(program, op uint64) (row schemas.ProgramRow, found bool) {
	ops := n.definitions.Programs[program]
	n.mu.Lock()
	defer n.mu.Unlock()
	index := n.programs[program]
	if index == nil {
		index = make(map[uint64]int, len(ops))
		for i, row := range slices.Backward(ops) {
			index[row.OpID] = i
		}
		n.programs[program] = index
	}
	i, found := index[op]
	if !found {
		return schemas.ProgramRow{}, false
	}
	return ops[i], true
}

// difference names the op and argument of a pair at a place.
func (n *names) difference(at pair.Step, j *judge.Judged) *Difference {
	own := j.Own()
	site := n.site(own.SiteID)
	op := n.op(site.OpID)
	d := &Difference{
		Judged: *j, Op: n.definitions.OpName(own.SiteID), Module: op.ModulePath, Role: site.Role, Path: site.Path,
		ProblemLayout: n.layout(j.Problem.LayoutID), BenchLayout: n.layout(j.Bench.LayoutID), ownModule: op.ModulePath,
	}
	d.Rank, d.Step, d.BenchRank, d.BenchStep = at.Rank, at.Step, at.BenchRank, at.BenchStep
	if benchOp := n.op(n.site(j.Bench.SiteID).OpID); benchOp.OpID != op.OpID {
		d.BenchOp = benchOp.Name
	}
	run, program := n.problem, at.ProblemProgram
	if !j.InProblem {
		run, program = n.bench, at.BenchProgram
	}
	if call, found := n.call(program, site.OpID); found {
		d.Parent, d.Module = n.op(call.ParentOpID).Name, n.definitions.Module(call)
		d.UserFrame = n.frames.User(n.definitions.Frames(run, call))
	}
	return d
}
