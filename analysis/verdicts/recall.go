package verdicts

import (
	"math"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// IsOf says whether a stored row is the result of the unit as it would be judged now: of the same pair of steps, by the same
// facts.
func IsOf(row *schemas.JudgedStepRow, u *Unit) bool {
	at := &u.At
	return row.Epoch == u.Epoch() && row.Provisional == 0 && row.Facts == u.Facts && row.BenchRank == at.BenchRank && row.BenchStep == at.BenchStep &&
		row.ProblemProgramID == at.ProblemProgram && row.BenchProgramID == at.BenchProgram
}

// Known is the result of a step as its stored row has it.
func Known(at pair.Step, row *schemas.JudgedStepRow) result.Known {
	at.ProblemRows, at.BenchRows = row.ProblemRowCount, row.BenchRowCount
	known := result.Known{At: at, Summary: result.StepSummary{
		Rank: at.Rank, Step: at.Step,
		PairedCount: row.PairedCount, OnlyProblemCount: row.OnlyProblemCount, OnlyBenchCount: row.OnlyBenchCount,
		BadAloneCounts: [2]uint64{row.OnlyProblemNotFiniteCount, row.OnlyBenchNotFiniteCount},
		UnknownCount:   row.UnknownCount, AloneUnknownCount: row.AloneUnknownCount, EqualCount: row.EqualCount, WithinCount: row.WithinCount,
		AgreesCount: row.AgreesCount, DivergedCount: row.DivergedCount, NotFiniteCount: row.NotFiniteCount, StructureCount: row.StructureCount,
		MeasuredCount: row.MeasuredCount, ProvedEqualCount: row.ProvedEqualCount, ArgumentCount: row.ArgumentCount,
		SameNotFiniteCount: row.SameNotFiniteCount, BitsDifferCount: row.BitsDifferCount, UninitialisedCount: row.UninitialisedCount,
		DifferingCount: row.DifferingCount, UnknownReasons: row.UnknownReasons, GreatestError: number(row.GreatestError),
	}}
	if row.DifferingCount > 0 {
		known.First = &judge.Judged{
			Pair: judge.Pair{InProblem: true, Problem: rows.Observation{Seq: row.FirstSeq, MicroStep: row.FirstMicroStep, SiteID: row.FirstSiteID}},
			Verdict: judge.Verdict{
				Class: named(row.FirstVerdict, judge.Unknown), Evidence: named(row.FirstEvidence, judge.EvidenceLiteral), Side: named(row.FirstSide, judge.SideBoth),
				Reason: row.FirstReason, Error: number(row.FirstError), Tolerance: number(row.FirstTolerance), Differs: true,
			},
		}
	}
	return known
}

// Judged is a pair with its verdict as its stored row has it. The row has neither digest nor sketch, and one place for both
// runs. It has one count of all elements that are not finite; Judged gives them as NaN.
func Judged(row *schemas.VerdictRow) judge.Judged {
	return judge.Judged{
		Pair: judge.Pair{
			Rank: row.Rank, Step: row.Step, BenchRank: row.BenchRank, BenchStep: row.BenchStep,
			InProblem: row.ProblemPresent == 1, InBench: row.BenchPresent == 1, Problem: problemOf(row), Bench: benchOf(row),
		},
		Verdict: judge.Verdict{
			Class: named(row.Verdict, judge.Unknown), Numeric: named(row.Numeric, judge.NumericNotFinite),
			Evidence: named(row.Evidence, judge.EvidenceLiteral), Side: named(row.Side, judge.SideBoth),
			Structure: row.Structure == 1, Differs: row.Differs == 1, Reason: row.Reason,
			Error: number(row.Error), ErrorLow: number(row.ErrorLow), ErrorHigh: number(row.ErrorHigh), Tolerance: number(row.Tolerance), ZScore: number(row.ZScore),
		},
	}
}

func problemOf(row *schemas.VerdictRow) rows.Observation {
	if row.ProblemPresent == 0 {
		return rows.Observation{}
	}
	return rows.Observation{
		Seq: row.Seq, MicroStep: row.MicroStep, SiteID: row.SiteID, LayoutID: row.ProblemLayoutID,
		Measured: row.ProblemMeasured, ElementCount: row.ProblemElementCount, NaNCount: row.ProblemNotFiniteCount,
		Min: row.ProblemMin, Max: row.ProblemMax, Mean: row.ProblemMean, L2: row.ProblemL2,
	}
}

func benchOf(row *schemas.VerdictRow) rows.Observation {
	if row.BenchPresent == 0 {
		return rows.Observation{}
	}
	return rows.Observation{
		Seq: row.Seq, MicroStep: row.MicroStep, SiteID: row.BenchSiteID, LayoutID: row.BenchLayoutID,
		Measured: row.BenchMeasured, ElementCount: row.BenchElementCount, NaNCount: row.BenchNotFiniteCount,
		Min: row.BenchMin, Max: row.BenchMax, Mean: row.BenchMean, L2: row.BenchL2,
	}
}

// number is NaN for what is not known.
func number(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// named is the value of that name, from 0 to the last. Rows are of the same rules, which have no other names.
func named[T interface {
	~uint8
	String() string
}](name string, last T) T {
	for v := T(0); v <= last; v++ {
		if v.String() == name {
			return v
		}
	}
	return 0
}
