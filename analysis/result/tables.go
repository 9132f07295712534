package result

import (
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/analysis/internal/column"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Table is a report as Arrow columns, by the name of the report.
func (r *Result) Table(report string) (table arrow.RecordBatch, known bool) {
	switch report {
	case "divergence":
		return column.Record(divergenceColumns(), r.Divergence), true
	case "divergence_summary":
		return column.Record(summaryColumns(), r.Summary), true
	case "judged_steps":
		return column.Record(judgedStepColumns(), r.Summary), true
	case "origin":
		return column.Record(originColumns(), r.Origins), true
	case "first_divergence":
		return column.Record(firstColumns(), r.Firsts), true
	case "jump":
		return column.Record(jumpColumns(), r.Jumps), true
	case "layers":
		return column.Record(layerColumns(), r.Layers), true
	case "unpaired":
		return column.Record(unpairedColumns(), r.Unpaired), true
	}
	return nil, false
}

// known is null for NaN.
func known(v float64) (float64, bool) { return v, !math.IsNaN(v) }

func placeColumns() []column.Of[Difference] {
	return []column.Of[Difference]{
		column.Uint32s("rank", func(d *Difference) uint32 { return d.Rank }),
		column.Uint32s("step", func(d *Difference) uint32 { return d.Step }),
		column.Uint64s("position", func(d *Difference) uint64 { return d.Own().Seq }),
		column.Text("op", func(d *Difference) string { return d.Op }),
		column.Text("module", func(d *Difference) string { return d.Module }),
		column.Text("role", func(d *Difference) string { return d.Role }),
		column.Text("path", func(d *Difference) string { return d.Path }),
	}
}

func errorColumns() []column.Of[judge.Judged] {
	return []column.Of[judge.Judged]{
		column.Text("verdict", func(j *judge.Judged) string { return j.Class.String() }),
		column.Text("reason", func(j *judge.Judged) string { return j.Reason }),
		column.Text("evidence", func(j *judge.Judged) string { return j.Evidence.String() }),
		column.Floats("error", func(j *judge.Judged) (float64, bool) { return known(j.Error) }),
		column.Floats("tolerance", func(j *judge.Judged) (float64, bool) { return known(j.Tolerance) }),
		column.Text("side", func(j *judge.Judged) string { return j.Side.String() }),
	}
}

func layoutColumns() []column.Of[Difference] {
	return []column.Of[Difference]{
		column.Text("problem_dtype", func(d *Difference) string { return d.ProblemLayout.Dtype }),
		column.Text("bench_dtype", func(d *Difference) string { return d.BenchLayout.Dtype }),
		column.Sizes("problem_shape", func(d *Difference) []int64 { return d.ProblemLayout.Shape }),
		column.Sizes("bench_shape", func(d *Difference) []int64 { return d.BenchLayout.Shape }),
		column.Text("problem_literal", func(d *Difference) string { return d.ProblemLayout.Literal }),
		column.Text("bench_literal", func(d *Difference) string { return d.BenchLayout.Literal }),
	}
}

// measuredOf is a statistic of a tensor; null where it was not measured.
func measuredOf(bit uint32, get func(*rows.Observation) float64) func(*rows.Observation) (float64, bool) {
	return func(o *rows.Observation) (float64, bool) { return get(o), o.Has(bit) }
}

// statisticColumns are the same statistics of both sides, side by side.
func statisticColumns() []column.Of[judge.Judged] {
	var columns []column.Of[judge.Judged]
	for _, s := range []struct {
		name string
		get  func(*rows.Observation) (float64, bool)
	}{
		{"min", measuredOf(schemas.MeasuredMin, func(o *rows.Observation) float64 { return o.Min })},
		{"max", measuredOf(schemas.MeasuredMax, func(o *rows.Observation) float64 { return o.Max })},
		{"mean", measuredOf(schemas.MeasuredMean, func(o *rows.Observation) float64 { return o.Mean })},
		{"l2", measuredOf(schemas.MeasuredL2, func(o *rows.Observation) float64 { return o.L2 })},
	} {
		columns = append(columns,
			column.Floats("problem_"+s.name, func(j *judge.Judged) (float64, bool) { return s.get(&j.Problem) }),
			column.Floats("bench_"+s.name, func(j *judge.Judged) (float64, bool) { return s.get(&j.Bench) }))
	}
	return columns
}

func verdictOf(d *Difference) *judge.Judged { return &d.Judged }

func divergenceColumns() []column.Of[Difference] {
	return slices.Concat(placeColumns(), []column.Of[Difference]{
		column.Text("verdict", func(d *Difference) string { return d.Class.String() }),
		column.Text("numeric", func(d *Difference) string { return d.Numeric.String() }),
		column.Text("evidence", func(d *Difference) string { return d.Evidence.String() }),
		column.Floats("error", func(d *Difference) (float64, bool) { return known(d.Error) }),
		column.Floats("tolerance", func(d *Difference) (float64, bool) { return known(d.Tolerance) }),
		column.Floats("z_score", func(d *Difference) (float64, bool) { return known(d.ZScore) }),
		column.Text("not_finite_side", (*Difference).notFiniteSide),
		column.Text("reason", func(d *Difference) string { return d.Reason }),
		column.Text("structure", (*Difference).structure),
	}, layoutColumns(), column.Lift(verdictOf, statisticColumns()), []column.Of[Difference]{
		column.Text("bench_op", func(d *Difference) string { return d.BenchOp }),
		column.Text("parent", func(d *Difference) string { return d.Parent }),
		column.Text("user_frame", func(d *Difference) string { return d.UserFrame }),
	})
}

func (d *Difference) notFiniteSide() string {
	if d.Numeric != judge.NumericNotFinite {
		return ""
	}
	return d.Side.String()
}

func originColumns() []column.Of[Origin] {
	of := func(columns []column.Of[Difference]) []column.Of[Origin] {
		return column.Lift(func(o *Origin) *Difference { return &o.Difference }, columns)
	}
	return slices.Concat(of(placeColumns()), []column.Of[Origin]{
		column.Text("kind", func(o *Origin) string { return string(o.Kind) }),
		column.Text("parameter", func(o *Origin) string { return o.Parameter }),
		column.Text("operation", func(o *Origin) string { return o.Operation }),
	}, of(factColumns()), []column.Of[Origin]{
		column.Text("user_frame", func(o *Origin) string { return o.UserFrame }),
		column.Uint64s("differing_count", func(o *Origin) uint64 { return o.DifferingCount }),
		column.Uint64s("concurrent", func(o *Origin) uint64 { return uint64(o.Concurrent) }), //nolint:gosec // a count
		column.Bools("at_or_before", func(o *Origin) bool { return o.AtOrBefore }),
		column.Text("unseen", func(o *Origin) string { return o.Unseen }),
		column.Uint32s("micro_step", func(o *Origin) uint32 { return uint32(o.Own().MicroStep) }),
		column.Uint32s("micro_step_count", func(o *Origin) uint32 { return uint32(o.MicroSteps) }),
	})
}

// factColumns are the verdict and the facts of both sides.
func factColumns() []column.Of[Difference] {
	return slices.Concat(column.Lift(verdictOf, errorColumns()), layoutColumns(), column.Lift(verdictOf, statisticColumns()))
}

func firstColumns() []column.Of[FirstDifference] {
	of := func(columns []column.Of[Difference]) []column.Of[FirstDifference] {
		return column.Lift(func(f *FirstDifference) *Difference { return &f.Difference }, columns)
	}
	facts := of(factColumns())
	const verdict = 6 // columns of errorColumns
	return slices.Concat(of(placeColumns()), facts[:verdict], []column.Of[FirstDifference]{
		column.Floats("error_in", func(f *FirstDifference) (float64, bool) { return known(f.ErrorIn) }),
		column.Floats("error_out", func(f *FirstDifference) (float64, bool) { return known(f.ErrorOut) }),
		column.Floats("error_ratio", (*FirstDifference).errorRatio),
	}, facts[verdict:], []column.Of[FirstDifference]{
		column.Text("parent", func(f *FirstDifference) string { return f.Parent }),
		column.Text("user_frame", func(f *FirstDifference) string { return f.UserFrame }),
		column.Uint64s("differing_count", func(f *FirstDifference) uint64 { return f.DifferingCount }),
	})
}

// errorRatio is the growth of the error in the op; null where an error is not known or nothing was off before.
func (f *FirstDifference) errorRatio() (float64, bool) {
	if !(f.ErrorIn > 0) || math.IsInf(f.ErrorIn, 1) || math.IsNaN(f.ErrorOut) {
		return 0, false
	}
	return f.ErrorOut / f.ErrorIn, true
}

func jumpColumns() []column.Of[Jump] {
	of := func(columns []column.Of[Difference]) []column.Of[Jump] {
		return column.Lift(func(j *Jump) *Difference { return &j.Difference }, columns)
	}
	return slices.Concat(of(placeColumns()), of(factColumns()), []column.Of[Jump]{
		column.PlainFloats("noise_before", func(j *Jump) float64 { return j.NoiseBefore }),
		column.Text("user_frame", func(j *Jump) string { return j.UserFrame }),
	})
}

func layerColumns() []column.Of[Layer] {
	return []column.Of[Layer]{
		column.Uint32s("step", func(l *Layer) uint32 { return l.Step }),
		column.Text("direction", func(l *Layer) string { return l.Direction }),
		column.Int32s("layer_index", func(l *Layer) int32 { return l.Index }),
		column.Text("layer", func(l *Layer) string { return l.Name }),
		column.Uint64s("paired_count", func(l *Layer) uint64 { return l.PairedCount }),
		column.Uint64s("differing_count", func(l *Layer) uint64 { return l.DifferingCount }),
		column.Uint64s("not_finite_count", func(l *Layer) uint64 { return l.NotFiniteCount }),
		column.Floats("greatest_error", func(l *Layer) (float64, bool) { return known(l.GreatestError) }),
	}
}

func unpairedColumns() []column.Of[Unpaired] {
	at := stepOfRank(func(u *Unpaired) (rank, step uint32) { return u.Rank, u.Step })
	return append(at,
		column.Text("side", func(u *Unpaired) string { return u.Side }),
		column.Text("op", func(u *Unpaired) string { return u.Op }),
		column.Text("module", func(u *Unpaired) string { return u.Module }),
		column.Text("reason", func(u *Unpaired) string { return u.Reason }),
		column.Uint64s("row_count", func(u *Unpaired) uint64 { return u.RowCount }),
		column.Uint64s("position", func(u *Unpaired) uint64 { return u.Position }),
	)
}

// stepOfRank are the first two columns of reports that have a row for each rank and step, or several.
func stepOfRank[R any](of func(*R) (rank, step uint32)) []column.Of[R] {
	return []column.Of[R]{
		column.Uint32s("rank", func(r *R) uint32 { rank, _ := of(r); return rank }),
		column.Uint32s("step", func(r *R) uint32 { _, step := of(r); return step }),
	}
}

func summaryColumns() []column.Of[StepSummary] {
	counts := []column.Of[StepSummary]{}
	for _, c := range []struct {
		name string
		of   func(*StepSummary) uint64
	}{
		{"paired_count", func(s *StepSummary) uint64 { return s.PairedCount }},
		{"only_problem_count", func(s *StepSummary) uint64 { return s.OnlyProblemCount }},
		{"only_bench_count", func(s *StepSummary) uint64 { return s.OnlyBenchCount }},
		{"unknown_count", func(s *StepSummary) uint64 { return s.UnknownCount }},
		{"alone_unknown_count", func(s *StepSummary) uint64 { return s.AloneUnknownCount }},
		{"equal_count", func(s *StepSummary) uint64 { return s.EqualCount }},
		{"within_count", func(s *StepSummary) uint64 { return s.WithinCount }},
		{"agrees_count", func(s *StepSummary) uint64 { return s.AgreesCount }},
		{"diverged_count", func(s *StepSummary) uint64 { return s.DivergedCount }},
		{"not_finite_count", func(s *StepSummary) uint64 { return s.NotFiniteCount }},
		{"structure_count", func(s *StepSummary) uint64 { return s.StructureCount }},
		{"measured_count", func(s *StepSummary) uint64 { return s.MeasuredCount }},
		{"proved_equal_count", func(s *StepSummary) uint64 { return s.ProvedEqualCount }},
		{"argument_count", func(s *StepSummary) uint64 { return s.ArgumentCount }},
		{"same_not_finite_count", func(s *StepSummary) uint64 { return s.SameNotFiniteCount }},
		{"bits_differ_count", func(s *StepSummary) uint64 { return s.BitsDifferCount }},
		{"uninitialised_count", func(s *StepSummary) uint64 { return s.UninitialisedCount }},
	} {
		counts = append(counts, column.Uint64s(c.name, c.of))
	}
	return slices.Concat(summaryPlace(), counts, []column.Of[StepSummary]{
		column.Text("unknown_reasons", (*StepSummary).unknownReasons),
		column.Floats("greatest_error", func(s *StepSummary) (float64, bool) { return known(s.GreatestError) }),
		column.Uint64s("differing_count", func(s *StepSummary) uint64 { return s.DifferingCount }),
		column.Numbers64("first_position", (*StepSummary).firstPosition),
		column.Text("first_op", func(s *StepSummary) string { return s.first().Op }),
		column.Text("first_role", func(s *StepSummary) string { return s.first().Role }),
		column.Text("first_path", func(s *StepSummary) string { return s.first().Path }),
	})
}

func summaryPlace() []column.Of[StepSummary] {
	return stepOfRank(func(s *StepSummary) (rank, step uint32) { return s.Rank, s.Step })
}

// first is the first difference, or a row without any name.
func (s *StepSummary) first() *Difference {
	if s.First != nil {
		return s.First
	}
	return &Difference{ProblemLayout: &schemas.LayoutRow{}, BenchLayout: &schemas.LayoutRow{}}
}

func (s *StepSummary) firstPosition() (uint64, bool) {
	return s.first().Own().Seq, s.First != nil
}

func judgedStepColumns() []column.Of[StepSummary] {
	columns := slices.DeleteFunc(summaryColumns(), func(c column.Of[StepSummary]) bool {
		return !slices.Contains([]string{
			"rank", "step", "paired_count", "only_problem_count", "only_bench_count", "unknown_count", "alone_unknown_count",
			"measured_count", "same_not_finite_count", "bits_differ_count", "differing_count",
		}, c.Field.Name)
	})
	named := func(get func(*Difference) string) func(*StepSummary) string {
		return func(s *StepSummary) string {
			if s.First == nil {
				return ""
			}
			return get(s.First)
		}
	}
	number := func(get func(*Difference) float64) func(*StepSummary) (float64, bool) {
		return func(s *StepSummary) (float64, bool) {
			if s.First == nil {
				return 0, false
			}
			return known(get(s.First))
		}
	}
	return append(columns,
		column.Uint64s("seq", func(s *StepSummary) uint64 { return s.first().Own().Seq }),
		column.Text("op", named(func(d *Difference) string { return d.Op })),
		column.Text("module", named(func(d *Difference) string { return d.ownModule })),
		column.Text("role", named(func(d *Difference) string { return d.Role })),
		column.Text("path", named(func(d *Difference) string { return d.Path })),
		column.Text("verdict", named(func(d *Difference) string { return d.Class.String() })),
		column.Text("evidence", named(func(d *Difference) string { return d.Evidence.String() })),
		column.Floats("error", number(func(d *Difference) float64 { return d.Error })),
		column.Floats("tolerance", number(func(d *Difference) float64 { return d.Tolerance })),
		column.Text("side", named(func(d *Difference) string { return d.Side.String() })),
		column.Text("reason", named(func(d *Difference) string { return d.Reason })))
}
