package verdicts

import (
	"math"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/schemas"
)

func (u *Unit) verdict(id schemas.Identity, j *judge.Judged, placed *result.Placed) schemas.VerdictRow {
	parent, frame := placed.CallOf(j)
	own, p, b := j.Own(), &j.Problem, &j.Bench
	return schemas.VerdictRow{
		RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch, Batch: id.Batch, EventTimeNs: u.EventTimeNs,
		ComparisonID: u.Comparison, Step: u.At.Step, Generation: u.Generation, Provisional: bit(u.Provisional),
		BenchRank: u.At.BenchRank, BenchStep: u.At.BenchStep, MicroStep: own.MicroStep, Seq: own.Seq,
		SiteID: own.SiteID, BenchSiteID: b.SiteID, ParentOpID: parent, UserFrame: frame, ProblemPresent: bit(j.InProblem), BenchPresent: bit(j.InBench),
		ProblemLayoutID: p.LayoutID, BenchLayoutID: b.LayoutID,
		Verdict: j.Class.String(), Numeric: j.Numeric.String(), Evidence: j.Evidence.String(), Side: j.Side.String(),
		Reason: j.Reason, Structure: bit(j.Structure), Differs: bit(j.Differs),
		Error: known(j.Error), ErrorLow: known(j.ErrorLow), ErrorHigh: known(j.ErrorHigh), Tolerance: known(j.Tolerance), ZScore: known(j.ZScore),
		ProblemMeasured: p.Measured, BenchMeasured: b.Measured, ProblemElementCount: p.ElementCount, BenchElementCount: b.ElementCount,
		ProblemMin: p.Min, BenchMin: b.Min, ProblemMax: p.Max, BenchMax: b.Max,
		ProblemMean: p.Mean, BenchMean: b.Mean, ProblemL2: p.L2, BenchL2: b.L2,
		ProblemNotFiniteCount: p.NotFinite(), BenchNotFiniteCount: b.NotFinite(),
	}
}

func (u *Unit) step(id schemas.Identity, placed *result.Placed) *schemas.JudgedStepRow {
	s, first := placed.Summary(), placed.First()
	row := &schemas.JudgedStepRow{
		RunID: id.RunID, Rank: id.Rank, Epoch: id.Epoch, Batch: id.Batch, EventTimeNs: u.EventTimeNs,
		ComparisonID: u.Comparison, Step: u.At.Step, Generation: u.Generation, Provisional: bit(u.Provisional),
		BenchRank: u.At.BenchRank, BenchStep: u.At.BenchStep, ProblemEpoch: u.ProblemEpoch, BenchEpoch: u.BenchEpoch,
		ProblemRowCount: u.At.ProblemRows, BenchRowCount: u.At.BenchRows, ProblemProgramID: u.At.ProblemProgram, BenchProgramID: u.At.BenchProgram, Facts: u.Facts,
		PairedCount: s.PairedCount, OnlyProblemCount: s.OnlyProblemCount, OnlyBenchCount: s.OnlyBenchCount,
		OnlyProblemNotFiniteCount: s.BadAloneCounts[0], OnlyBenchNotFiniteCount: s.BadAloneCounts[1],
		UnknownCount: s.UnknownCount, AloneUnknownCount: s.AloneUnknownCount, EqualCount: s.EqualCount, WithinCount: s.WithinCount,
		AgreesCount: s.AgreesCount, DivergedCount: s.DivergedCount, NotFiniteCount: s.NotFiniteCount, StructureCount: s.StructureCount,
		MeasuredCount: s.MeasuredCount, ProvedEqualCount: s.ProvedEqualCount, ArgumentCount: s.ArgumentCount,
		SameNotFiniteCount: s.SameNotFiniteCount, BitsDifferCount: s.BitsDifferCount, UninitialisedCount: s.UninitialisedCount,
		DifferingCount: s.DifferingCount, UnknownReasons: s.UnknownReasons, GreatestError: known(s.GreatestError),
	}
	if first == nil {
		return row
	}
	own := first.Own()
	row.FirstSeq, row.FirstMicroStep, row.FirstSiteID = own.Seq, own.MicroStep, own.SiteID
	row.FirstVerdict, row.FirstEvidence = first.Class.String(), first.Evidence.String()
	row.FirstSide, row.FirstReason = first.Side.String(), first.Reason
	row.FirstError, row.FirstTolerance = known(first.Error), known(first.Tolerance)
	row.FirstErrorIn, row.FirstErrorOut = known(first.ErrorIn), known(first.ErrorOut)
	return row
}

// known is nil for what is not a number: null is what says that something is not known.
func known(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

func bit(set bool) uint8 { //nolint:revive // a number for a truth, no control
	if set {
		return 1
	}
	return 0
}
