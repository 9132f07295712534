package verdicts

import (
	"fmt"

	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Origins are where the difference of a comparison began, as one message; none where nothing differs. The revision is
// greater than that of earlier answers of the comparison, the basis a hash of the judgings that this one rests on.
func Origins(comparison, problem, revision, basis uint64, origins []result.Origin) ([]schemas.Message, error) {
	if len(origins) == 0 {
		return nil, nil
	}
	builder := schemas.NewBuilder[schemas.OriginRow]()
	for i := range origins {
		row := originRow(&origins[i])
		row.ComparisonID, row.Revision, row.Basis, row.Position = comparison, revision, basis, uint32(i) //nolint:gosec // at most one of each rank
		builder.Append(&row)
	}
	message, err := builder.Message(schemas.Identity{RunID: problem, Epoch: comparison, Batch: revision})
	return []schemas.Message{message}, err
}

func originRow(o *result.Origin) schemas.OriginRow {
	p, b := &o.Problem, &o.Bench
	return schemas.OriginRow{
		Rank: o.Rank, Step: o.Step, Seq: o.Own().Seq, MicroStep: o.Own().MicroStep, MicroStepCount: o.MicroSteps, Op: o.Op, Module: o.Module, Role: o.Role, Path: o.Path,
		Kind: string(o.Kind), Parameter: o.Parameter, Operation: o.Operation,
		Verdict: o.Class.String(), Reason: o.Reason, Evidence: o.Evidence.String(), Error: known(o.Error), Tolerance: known(o.Tolerance), Side: o.Side.String(),
		ProblemLayoutID: p.LayoutID, BenchLayoutID: b.LayoutID,
		ProblemMin: measured(p, schemas.MeasuredMin, p.Min), BenchMin: measured(b, schemas.MeasuredMin, b.Min),
		ProblemMax: measured(p, schemas.MeasuredMax, p.Max), BenchMax: measured(b, schemas.MeasuredMax, b.Max),
		ProblemMean: measured(p, schemas.MeasuredMean, p.Mean), BenchMean: measured(b, schemas.MeasuredMean, b.Mean),
		ProblemL2: measured(p, schemas.MeasuredL2, p.L2), BenchL2: measured(b, schemas.MeasuredL2, b.L2),
		UserFrame: o.UserFrame, ConcurrentCount: uint64(o.Concurrent), //nolint:gosec // a count
		AtOrBefore: bit(o.AtOrBefore), Unseen: o.Unseen,
	}
}

// measured is nil for what was not; NaN is a value here.
func measured(o *rows.Observation, statistic uint32, v float64) *float64 {
	if !o.Has(statistic) {
		return nil
	}
	return &v
}

// Declared is the message of a comparison that was asked for, with its id filled in.
func Declared(row schemas.DeclaredComparisonRow) (schemas.Message, error) {
	row.ComparisonID = schemas.DeclaredComparisonID(&row)
	builder := schemas.NewBuilder[schemas.DeclaredComparisonRow]()
	builder.Append(&row)
	return builder.Message(schemas.Identity{RunID: schemas.RunID(row.Problem), Epoch: row.ComparisonID, Batch: uint64(row.DeclaredTimeNs)}) //nolint:gosec // any number that is another at another time
}

// Baseline is the message that sets or removes a standing comparison.
func Baseline(row schemas.BaselineRow) (schemas.Message, error) {
	if row.Name == "" {
		return schemas.Message{}, fmt.Errorf("set a baseline of %v: it has no name", row.Benches)
	}
	builder := schemas.NewBuilder[schemas.BaselineRow]()
	builder.Append(&row)
	return builder.Message(schemas.Identity{RunID: schemas.RunID(row.Name), Epoch: uint64(row.ChangedTimeNs)}) //nolint:gosec // any number that is another at another time
}

// Layout is the message of a layout that was made of others.
func Layout(problem uint64, row *schemas.LayoutRow) (schemas.Message, error) {
	builder := schemas.NewBuilder[schemas.LayoutRow]()
	builder.Append(row)
	return builder.Message(schemas.Identity{RunID: problem, Epoch: row.LayoutID})
}
