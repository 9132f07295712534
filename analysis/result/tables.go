package result

import (
	"math"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Table is a report as Arrow columns, by the name of the report.
func (r *Result) Table(report string) (table arrow.RecordBatch, known bool) {
	switch report {
	case "divergence":
		return record(divergenceColumns(), r.Divergence), true
	case "divergence_summary":
		return record(summaryColumns(), r.Summary), true
	case "judged_steps":
		return record(judgedStepColumns(), r.Summary), true
	case "origin":
		return record(originColumns(), r.Origins), true
	case "first_divergence":
		return record(firstColumns(), r.Firsts), true
	case "jump":
		return record(jumpColumns(), r.Jumps), true
	case "layers":
		return record(layerColumns(), r.Layers), true
	case "unpaired":
		return record(unpairedColumns(), r.Unpaired), true
	}
	return nil, false
}

// known is null for NaN.
func known(v float64) (float64, bool) { return v, !math.IsNaN(v) }

func placeColumns() []column[Difference] {
	return []column[Difference]{
		uint32s("rank", func(d *Difference) uint32 { return d.Rank }),
		uint32s("step", func(d *Difference) uint32 { return d.Step }),
		uint64s("position", func(d *Difference) uint64 { return d.Own().Seq }),
		text("op", func(d *Difference) string { return d.Op }),
		text("module", func(d *Difference) string { return d.Module }),
		text("role", func(d *Difference) string { return d.Role }),
		text("path", func(d *Difference) string { return d.Path }),
	}
}

func errorColumns() []column[judge.Judged] {
	return []column[judge.Judged]{
		text("verdict", func(j *judge.Judged) string { return j.Class.String() }),
		text("reason", func(j *judge.Judged) string { return j.Reason }),
		text("evidence", func(j *judge.Judged) string { return j.Evidence.String() }),
		floats("error", func(j *judge.Judged) (float64, bool) { return known(j.Error) }),
		floats("tolerance", func(j *judge.Judged) (float64, bool) { return known(j.Tolerance) }),
		text("side", func(j *judge.Judged) string { return j.Side.String() }),
	}
}

func layoutColumns() []column[Difference] {
	return []column[Difference]{
		text("problem_dtype", func(d *Difference) string { return d.ProblemLayout.Dtype }),
		text("bench_dtype", func(d *Difference) string { return d.BenchLayout.Dtype }),
		sizes("problem_shape", func(d *Difference) []int64 { return d.ProblemLayout.Shape }),
		sizes("bench_shape", func(d *Difference) []int64 { return d.BenchLayout.Shape }),
		text("problem_literal", func(d *Difference) string { return d.ProblemLayout.Literal }),
		text("bench_literal", func(d *Difference) string { return d.BenchLayout.Literal }),
	}
}

// measuredOf is a statistic of a tensor; null where it was not measured.
func measuredOf(bit uint32, get func(*rows.Observation) float64) func(*rows.Observation) (float64, bool) {
	return func(o *rows.Observation) (float64, bool) { return get(o), o.Has(bit) }
}

// statisticColumns are the same statistics of both sides, side by side.
func statisticColumns() []column[judge.Judged] {
	var columns []column[judge.Judged]
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
			floats("problem_"+s.name, func(j *judge.Judged) (float64, bool) { return s.get(&j.Problem) }),
			floats("bench_"+s.name, func(j *judge.Judged) (float64, bool) { return s.get(&j.Bench) }))
	}
	return columns
}

func verdictOf(d *Difference) *judge.Judged { return &d.Judged }

func divergenceColumns() []column[Difference] {
	return slices.Concat(placeColumns(), []column[Difference]{
		text("verdict", func(d *Difference) string { return d.Class.String() }),
		text("numeric", func(d *Difference) string { return d.Numeric.String() }),
		text("evidence", func(d *Difference) string { return d.Evidence.String() }),
		floats("error", func(d *Difference) (float64, bool) { return known(d.Error) }),
		floats("tolerance", func(d *Difference) (float64, bool) { return known(d.Tolerance) }),
		floats("z_score", func(d *Difference) (float64, bool) { return known(d.ZScore) }),
		text("not_finite_side", (*Difference).notFiniteSide),
		text("reason", func(d *Difference) string { return d.Reason }),
		text("structure", (*Difference).structure),
	}, layoutColumns(), of(verdictOf, statisticColumns()), []column[Difference]{
		text("bench_op", func(d *Difference) string { return d.BenchOp }),
		text("parent", func(d *Difference) string { return d.Parent }),
		text("user_frame", func(d *Difference) string { return d.UserFrame }),
	})
}

func (d *Difference) notFiniteSide() string {
	if d.Numeric != judge.NumericNotFinite {
		return ""
	}
	return d.Side.String()
}

func originColumns() []column[Origin] {
	of := func(columns []column[Difference]) []column[Origin] {
		return of(func(o *Origin) *Difference { return &o.Difference }, columns)
	}
	return slices.Concat(of(placeColumns()), []column[Origin]{
		text("kind", func(o *Origin) string { return string(o.Kind) }),
		text("parameter", func(o *Origin) string { return o.Parameter }),
		text("operation", func(o *Origin) string { return o.Operation }),
	}, of(factColumns()), []column[Origin]{
		text("user_frame", func(o *Origin) string { return o.UserFrame }),
		uint64s("differing_count", func(o *Origin) uint64 { return o.DifferingCount }),
		uint64s("concurrent", func(o *Origin) uint64 { return uint64(o.Concurrent) }), //nolint:gosec // a count
		bools("at_or_before", func(o *Origin) bool { return o.AtOrBefore }),
		text("unseen", func(o *Origin) string { return o.Unseen }),
	})
}

// factColumns are the verdict and the facts of both sides.
func factColumns() []column[Difference] {
	return slices.Concat(of(verdictOf, errorColumns()), layoutColumns(), of(verdictOf, statisticColumns()))
}

func firstColumns() []column[FirstDifference] {
	of := func(columns []column[Difference]) []column[FirstDifference] {
		return of(func(f *FirstDifference) *Difference { return &f.Difference }, columns)
	}
	facts := of(factColumns())
	const verdict = 6 // columns of errorColumns
	return slices.Concat(of(placeColumns()), facts[:verdict], []column[FirstDifference]{
		floats("error_in", func(f *FirstDifference) (float64, bool) { return known(f.ErrorIn) }),
		floats("error_out", func(f *FirstDifference) (float64, bool) { return known(f.ErrorOut) }),
		floats("error_ratio", (*FirstDifference).errorRatio),
	}, facts[verdict:], []column[FirstDifference]{
		text("parent", func(f *FirstDifference) string { return f.Parent }),
		text("user_frame", func(f *FirstDifference) string { return f.UserFrame }),
		uint64s("differing_count", func(f *FirstDifference) uint64 { return f.DifferingCount }),
	})
}

// errorRatio is how many times as large the error became in the op; null where one is not known or nothing was off before.
func (f *FirstDifference) errorRatio() (float64, bool) {
	if !(f.ErrorIn > 0) || math.IsInf(f.ErrorIn, 1) || math.IsNaN(f.ErrorOut) {
		return 0, false
	}
	return f.ErrorOut / f.ErrorIn, true
}

func jumpColumns() []column[Jump] {
	of := func(columns []column[Difference]) []column[Jump] {
		return of(func(j *Jump) *Difference { return &j.Difference }, columns)
	}
	return slices.Concat(of(placeColumns()), of(factColumns()), []column[Jump]{
		plainFloats("noise_before", func(j *Jump) float64 { return j.NoiseBefore }),
		text("user_frame", func(j *Jump) string { return j.UserFrame }),
	})
}

func layerColumns() []column[Layer] {
	return []column[Layer]{
		uint32s("step", func(l *Layer) uint32 { return l.Step }),
		text("direction", func(l *Layer) string { return l.Direction }),
		int32s("layer_index", func(l *Layer) int32 { return l.Index }),
		text("layer", func(l *Layer) string { return l.Name }),
		uint64s("paired_count", func(l *Layer) uint64 { return l.PairedCount }),
		uint64s("differing_count", func(l *Layer) uint64 { return l.DifferingCount }),
		uint64s("not_finite_count", func(l *Layer) uint64 { return l.NotFiniteCount }),
		plainFloats("greatest_error", func(l *Layer) float64 { return l.GreatestError }),
	}
}

func unpairedColumns() []column[Unpaired] {
	at := stepOfRank(func(u *Unpaired) (rank, step uint32) { return u.Rank, u.Step })
	return append(at,
		text("side", func(u *Unpaired) string { return u.Side }),
		text("op", func(u *Unpaired) string { return u.Op }),
		text("module", func(u *Unpaired) string { return u.Module }),
		text("reason", func(u *Unpaired) string { return u.Reason }),
		uint64s("row_count", func(u *Unpaired) uint64 { return u.RowCount }),
		uint64s("position", func(u *Unpaired) uint64 { return u.Position }),
	)
}

// stepOfRank are the first two columns of reports that have a row for each rank and step, or several.
func stepOfRank[R any](of func(*R) (rank, step uint32)) []column[R] {
	return []column[R]{
		uint32s("rank", func(r *R) uint32 { rank, _ := of(r); return rank }),
		uint32s("step", func(r *R) uint32 { _, step := of(r); return step }),
	}
}

func summaryColumns() []column[StepSummary] {
	counts := []column[StepSummary]{}
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
		counts = append(counts, uint64s(c.name, c.of))
	}
	return slices.Concat(summaryPlace(), counts, []column[StepSummary]{
		text("unknown_reasons", (*StepSummary).unknownReasons),
		floats("greatest_error", func(s *StepSummary) (float64, bool) { return known(s.GreatestError) }),
		uint64s("differing_count", func(s *StepSummary) uint64 { return s.DifferingCount }),
		numbers64("first_position", (*StepSummary).firstPosition),
		text("first_op", func(s *StepSummary) string { return s.first().Op }),
		text("first_role", func(s *StepSummary) string { return s.first().Role }),
		text("first_path", func(s *StepSummary) string { return s.first().Path }),
	})
}

func summaryPlace() []column[StepSummary] {
	return stepOfRank(func(s *StepSummary) (rank, step uint32) { return s.Rank, s.Step })
}

// first is what differs first, or a row without any name.
func (s *StepSummary) first() *Difference {
	if s.First != nil {
		return s.First
	}
	return &Difference{ProblemLayout: &schemas.LayoutRow{}, BenchLayout: &schemas.LayoutRow{}}
}

func (s *StepSummary) firstPosition() (uint64, bool) {
	return s.first().Own().Seq, s.First != nil
}

func judgedStepColumns() []column[StepSummary] {
	columns := slices.DeleteFunc(summaryColumns(), func(c column[StepSummary]) bool {
		return !slices.Contains([]string{
			"rank", "step", "paired_count", "only_problem_count", "only_bench_count", "unknown_count", "alone_unknown_count",
			"measured_count", "same_not_finite_count", "bits_differ_count", "differing_count",
		}, c.field.Name)
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
		uint64s("seq", func(s *StepSummary) uint64 { return s.first().Own().Seq }),
		text("op", named(func(d *Difference) string { return d.Op })),
		text("module", named(func(d *Difference) string { return d.ownModule })),
		text("role", named(func(d *Difference) string { return d.Role })),
		text("path", named(func(d *Difference) string { return d.Path })),
		text("verdict", named(func(d *Difference) string { return d.Class.String() })),
		text("evidence", named(func(d *Difference) string { return d.Evidence.String() })),
		floats("error", number(func(d *Difference) float64 { return d.Error })),
		floats("tolerance", number(func(d *Difference) float64 { return d.Tolerance })),
		text("side", named(func(d *Difference) string { return d.Side.String() })),
		text("reason", named(func(d *Difference) string { return d.Reason })))
}
