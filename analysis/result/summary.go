package result

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/judge"
)

// StepSummary counts the results of one place. A place of the bench alone counts under its missing
// partner's numbers.
type StepSummary struct {
	Rank, Step uint32

	PairedCount       uint64
	OnlyProblemCount  uint64
	OnlyBenchCount    uint64
	UnknownCount      uint64
	AloneUnknownCount uint64 // of those unknown, without partner

	EqualCount     uint64
	WithinCount    uint64
	AgreesCount    uint64
	DivergedCount  uint64
	NotFiniteCount uint64
	StructureCount uint64

	MeasuredCount      uint64
	ProvedEqualCount   uint64
	ArgumentCount      uint64
	SameNotFiniteCount uint64
	BitsDifferCount    uint64
	UninitialisedCount uint64
	DifferingCount     uint64

	BadAloneCounts [2]uint64 // NaN or infinity without a partner, of problem and bench

	UnknownReasons []string    // each once, in order
	GreatestError  float64     // of the finite ones; NaN where there is none
	First          *Difference // the first difference; nil where nothing differs
}

// add counts one pair.
func (s *StepSummary) add(j *judge.Judged) {
	s.addClass(j)
	measured := j.Evidence != judge.EvidenceNone && j.Evidence != judge.EvidenceLiteral
	if measured && j.Paired() {
		s.MeasuredCount++
	}
	if j.Structure && j.Problem.Measured == 0 && j.Bench.Measured == 0 {
		s.ArgumentCount++
	}
	if j.Reason != "" {
		if j.Reason == "bits differ" {
			s.BitsDifferCount++
		}
		if j.Reason == "uninitialised" {
			s.UninitialisedCount++
		}
	}
	if j.Differs {
		s.DifferingCount++
	}
	if off := errorOf(j); isFinite(off) {
		s.GreatestError = greater(s.GreatestError, off)
	}
}

func (s *StepSummary) addClass(j *judge.Judged) {
	switch j.Class {
	case judge.Equal:
		s.EqualCount++
		if j.Evidence != judge.EvidenceLiteral {
			s.ProvedEqualCount++
		}
	case judge.Within:
		s.WithinCount++
	case judge.Agrees:
		s.AgreesCount++
	case judge.Diverged:
		s.DivergedCount++
	case judge.NotFinite:
		s.NotFiniteCount++
		if !j.Differs {
			s.SameNotFiniteCount++
		}
	case judge.Structure:
		s.StructureCount++
	case judge.Unpaired:
		if j.InProblem {
			s.OnlyProblemCount++
		}
		if j.InBench {
			s.OnlyBenchCount++
		}
	case judge.Unknown:
		s.addUnknown(j)
	}
	if j.Class != judge.Unpaired && j.Class != judge.Unknown {
		s.PairedCount++
	}
}

func (s *StepSummary) addUnknown(j *judge.Judged) {
	s.UnknownCount++
	if !j.Paired() && j.Reason != judge.ReasonMoreDetail && !j.NotComparable() { // which take nothing from what is in both
		s.AloneUnknownCount++
	}
	if j.Reason == "" {
		return
	}
	if at, found := slices.BinarySearch(s.UnknownReasons, j.Reason); !found {
		s.UnknownReasons = slices.Insert(s.UnknownReasons, at, j.Reason)
	}
}

// errorOf is the error of a pair of tensors; NaN where it is not known. Arguments that are no tensors have no elements, and
// an error that cannot be held against those of tensors.
func errorOf(j *judge.Judged) float64 {
	if j.Own().ElementCount == 0 {
		return math.NaN()
	}
	return j.Error
}

func isFinite(v float64) bool { return v-v == 0 }

func (s *StepSummary) unknownReasons() string { return strings.Join(s.UnknownReasons, ", ") }

func sortSummary(summary []StepSummary) {
	slices.SortFunc(summary, func(a, b StepSummary) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Rank, b.Rank))
	})
}
