package result_test

import (
	"math"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// model is two runs whose pairs a test judges itself.
type model struct {
	definitions    *rows.Definitions
	problem, bench *rows.Run
	seq            uint64
	alignment      []schemas.AlignmentRow
	finishing      result.Finishing
	strict         bool
}

// The programs of the two runs, and the layouts of tensors.
const (
	problemProgram uint64 = 8
	benchProgram   uint64 = 9
	plainLayout    uint64 = 1
	gradLayout     uint64 = 2
	idsLayout      uint64 = 3
)

func newModel() *model {
	m := &model{
		definitions: rows.NewDefinitions(),
		problem:     &rows.Run{Name: "problem", ID: 1, Steps: []schemas.StepRow{{ProgramID: problemProgram}}},
		bench:       &rows.Run{Name: "bench", ID: 2, Steps: []schemas.StepRow{{ProgramID: benchProgram}}},
	}
	wanted := uint8(1)
	m.definitions.Layouts[plainLayout] = &schemas.LayoutRow{LayoutID: plainLayout, Kind: "tensor", Dtype: "torch.float32", Shape: []int64{2, 4, 8}}
	m.definitions.Layouts[gradLayout] = &schemas.LayoutRow{LayoutID: gradLayout, Kind: "tensor", Dtype: "torch.float32", Shape: []int64{2, 4, 8}, RequiresGrad: &wanted}
	m.definitions.Layouts[idsLayout] = &schemas.LayoutRow{LayoutID: idsLayout, Kind: "tensor", Dtype: "torch.int64", Shape: []int64{8, 8}}
	return m
}

// op adds an op to a program, called by a parent; empty: by none. A module has a path.
func (m *model) op(program uint64, name, path, parent string) {
	op := &schemas.OpRow{OpID: schemas.OpID(name), Name: name, Level: "api", ModulePath: path, LayerIndex: -1, ClassOrAPI: name, Phase: "forward"}
	if path != "" {
		op.Level = "module"
	}
	m.definitions.Ops[op.OpID] = op
	row := schemas.ProgramRow{ProgramID: program, Position: uint32(len(m.definitions.Programs[program])), OpID: op.OpID}
	if parent != "" {
		row.ParentOpID = schemas.OpID(parent)
	}
	m.definitions.Programs[program] = append(m.definitions.Programs[program], row)
}

// ops adds an op to both programs.
func (m *model) ops(name, path, parent string) {
	m.op(problemProgram, name, path, parent)
	m.op(benchProgram, name, path, parent)
}

// seen is a tensor with values from a number, the next one of its rank.
func (m *model) seen(op, role, path string, value float64) rows.Observation {
	site := schemas.SiteRow{OpID: schemas.OpID(op), Role: role, Path: path}
	site.SiteID = schemas.SiteID(site.OpID, role, path)
	m.definitions.Sites[site.SiteID] = site
	m.seq++
	return rows.Observation{
		Seq: m.seq, SiteID: site.SiteID, LayoutID: plainLayout, ElementCount: 64, Min: -value, Max: value, Mean: value / 8, L2: 8 * value,
		Measured: schemas.MeasuredMin | schemas.MeasuredMax | schemas.MeasuredMean | schemas.MeasuredL2,
	}
}

// both is a tensor of both runs with that error; 0 where it is equal.
func (m *model) both(op, role, path string, value, relative float64) judge.Judged {
	j := judge.Judged{Pair: judge.Pair{InProblem: true, InBench: true}}
	j.Bench = m.seen(op, role, path, value)
	j.Problem = j.Bench
	j.Error, j.ErrorLow, j.ErrorHigh, j.Tolerance, j.ZScore = relative, relative, math.Inf(1), 1e-6, math.NaN()
	j.Evidence, j.Class, j.Numeric = judge.EvidenceStatistics, judge.Agrees, judge.NumericAgrees
	if relative > j.Tolerance {
		j.Problem.Min, j.Problem.Max, j.Problem.L2 = -value*(1+relative), value*(1+relative), 8*value*(1+relative)
		j.Class, j.Numeric, j.Differs = judge.Diverged, judge.NumericDiverged, true
	}
	return j
}

// ofProblem is an output of an op that the problem has alone.
func (m *model) ofProblem(op string, value float64) judge.Judged {
	j := alone()
	j.InProblem, j.Problem, j.Side, j.Reason = true, m.seen(op, "output", "0", value), judge.SideProblem, judge.ReasonOnlyProblem
	return j
}

// ofBench is an output of an op that the bench has alone.
func (m *model) ofBench(op string, value float64) judge.Judged {
	j := alone()
	j.InBench, j.Bench, j.Side, j.Reason = true, m.seen(op, "output", "0", value), judge.SideBench, judge.ReasonOnlyBench
	return j
}

func alone() judge.Judged {
	nan := math.NaN()
	return judge.Judged{Verdict: judge.Verdict{Class: judge.Unpaired, Error: nan, ErrorLow: nan, ErrorHigh: nan, Tolerance: nan, ZScore: nan}}
}

// finish collects the steps of rank 0 in their order.
func (m *model) finish(steps ...[]judge.Judged) result.Result {
	options := result.DefaultOptions()
	options.Strict = m.strict
	collected := result.New(options, m.problem, m.bench, m.definitions)
	for step, judged := range steps {
		collected.Place(m.at(uint32(step)), judged)
	}
	m.finishing.Alignment = func(uint64, uint64) []schemas.AlignmentRow { return m.alignment }
	return collected.Finish(m.finishing)
}

func (m *model) at(step uint32) pair.Step {
	return pair.Step{Step: step, BenchStep: step, InProblem: true, InBench: true, ProblemProgram: problemProgram, BenchProgram: benchProgram}
}
