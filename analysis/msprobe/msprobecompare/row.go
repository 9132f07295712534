package msprobecompare

import (
	"strings"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/msprobe/internal/arguments"
	"github.com/tensortap/tensortap/schemas"
)

// The statistics, in msProbe's order.
const (
	Max            = arguments.Max
	Min            = arguments.Min
	Mean           = arguments.Mean
	Norm           = arguments.Norm
	StatisticCount = arguments.StatisticCount
)

const notApplicable = "N/A"

// Number is a number, if it is known.
type Number = arguments.Number

// Row is what msProbe's own compare says of one tensor, or other argument, of the problem.
type Row struct {
	Rank, BenchRank, Step uint32
	Seq                   uint64
	SiteID                uint64
	Op, Role, Path        string // of the problem
	Paired                bool
	Problem, Bench        Side

	Differences, RelativeErrors [StatisticCount]Number   // unknown where msProbe says N/A or Diff
	Raw                         *schemas.PayloadErrorRow // how far the raw tensors are apart; nil where they were not compared
	Result                      Result
	Message                     string   // why, as a JSON list
	Frames                      []string // of the op, at its first row
}

// Side is what one run has there, as msProbe prints it.
type Side struct {
	Name, Dtype, Shape, Grad string
	Value                    string // of an argument that is no tensor
	Checksum                 string
	File                     string // of the raw tensor, if it was kept
	Statistics               [StatisticCount]Number
}

func sideOf(a *arguments.Argument) Side {
	return Side{
		Name: a.Name, Dtype: a.Dtype, Shape: a.Shape, Grad: a.Grad, Value: a.Value, Checksum: a.Checksum, Statistics: a.Statistics,
	}
}

// absent is the side of the bench where it has no partner.
func absent() Side {
	return Side{Name: notApplicable, Dtype: notApplicable, Shape: notApplicable, Grad: notApplicable, Checksum: notApplicable}
}

func (r *Row) isOutput() bool { return strings.Contains(r.Problem.Name, ".output.") }

func (r *Row) finiteNormError() float64 {
	if e := r.RelativeErrors[Norm]; e.Known && isFinite(e.Value) {
		return e.Value
	}
	return 0
}

// judgePlace hands on the rows of a place. They are made twice, first for what is to be known of the whole call: of a
// place with many rows, holding all would take more memory than its tensors.
func (j *Job) judgePlace(at place, w *window, visit func(*Row) error) error {
	b := pairRows(j.problem.lister.List(at.problemProgram, w.problem[at.at()]), j.bench.lister.List(at.benchProgram, w.bench[at.partner()]))
	calls := make(map[uint64]*call, len(j.source.Definitions().Programs[at.problemProgram]))
	for i := range b.problem {
		op := b.problem[i].OpID
		if calls[op] == nil {
			calls[op] = newCall(b.problem[i].Op)
		}
		row := j.row(at, b, i)
		calls[op].add(&row)
	}
	for i := range b.problem {
		row := j.row(at, b, i)
		op := b.problem[i].OpID
		of := calls[op]
		row.Result, row.Message = resultOf(of.judge(j.Mode, &row))
		if row.Seq == of.first {
			row.Frames = j.frames.of(at.problemProgram, op)
		}
		if err := visit(&row); err != nil {
			return err
		}
	}
	return nil
}

// row is what can be said of a row alone.
func (j *Job) row(at place, b *beside, i int) Row {
	p, partner := &b.problem[i], b.partner(i)
	r := Row{
		Rank: at.rank, BenchRank: at.benchRank, Step: at.step, Seq: p.Seq, SiteID: p.SiteID, Op: p.Op, Role: p.Role, Path: p.Path,
		Problem: sideOf(p), Bench: absent(),
	}
	r.Problem.File = j.problem.files.names[at.at()][p.SiteID]
	if partner == nil {
		return r
	}
	r.Paired, r.Bench = true, sideOf(partner)
	r.Bench.File = j.bench.files.names[at.partner()][partner.SiteID]
	for s := range StatisticCount {
		r.Differences[s], r.RelativeErrors[s] = errorOf(p, partner, s)
	}
	r.Raw = j.raw[compare.PayloadPlace{Rank: at.rank, Step: at.step, ProblemSite: p.SiteID, BenchSite: partner.SiteID}]
	return r
}
