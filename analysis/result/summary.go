package result

import (
	"cmp"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/judge"
)

// StepSummary counts what came of one place. What only the bench has counts where its partner would be.
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

	UnknownReasons []string    // each once, in order
	GreatestError  float64     // of the finite ones; NaN where there is none
	First          *Difference // what differs first; nil where nothing does
}

// add counts one pair.
func (s *StepSummary) add(j *judge.Judged) {
	s.addClass(j)
	measured := j.Evidence != judge.EvidenceNone && j.Evidence != judge.EvidenceLiteral
	count(&s.MeasuredCount, measured && j.Paired())
	count(&s.ArgumentCount, j.Structure && j.Problem.Measured == 0 && j.Bench.Measured == 0)
	if j.Reason != "" {
		count(&s.BitsDifferCount, j.Reason == "bits differ")
		count(&s.UninitialisedCount, j.Reason == "uninitialised")
	}
	count(&s.DifferingCount, j.Differs)
	if isFinite(j.Error) {
		s.GreatestError = greater(s.GreatestError, j.Error)
	}
}

func (s *StepSummary) addClass(j *judge.Judged) {
	switch j.Class {
	case judge.Equal:
		s.EqualCount++
		count(&s.ProvedEqualCount, j.Evidence != judge.EvidenceLiteral)
	case judge.Within:
		s.WithinCount++
	case judge.Agrees:
		s.AgreesCount++
	case judge.Diverged:
		s.DivergedCount++
	case judge.NotFinite:
		s.NotFiniteCount++
		count(&s.SameNotFiniteCount, !j.Differs)
	case judge.Structure:
		s.StructureCount++
	case judge.Unpaired:
		count(&s.OnlyProblemCount, j.InProblem)
		count(&s.OnlyBenchCount, j.InBench)
	case judge.Unknown:
		s.addUnknown(j)
	}
	count(&s.PairedCount, j.Class != judge.Unpaired && j.Class != judge.Unknown)
}

func (s *StepSummary) addUnknown(j *judge.Judged) {
	s.UnknownCount++
	count(&s.AloneUnknownCount, !j.Paired())
	if j.Reason == "" {
		return
	}
	if at, found := slices.BinarySearch(s.UnknownReasons, j.Reason); !found {
		s.UnknownReasons = slices.Insert(s.UnknownReasons, at, j.Reason)
	}
}

func count(into *uint64, counts bool) {
	if counts {
		*into++
	}
}

func isFinite(v float64) bool { return v-v == 0 }

func (s *StepSummary) unknownReasons() string { return strings.Join(s.UnknownReasons, ", ") }

func sortSummary(summary []StepSummary) {
	slices.SortFunc(summary, func(a, b StepSummary) int {
		return cmp.Or(cmp.Compare(a.Step, b.Step), cmp.Compare(a.Rank, b.Rank))
	})
}
