package report

import (
	"fmt"

	"github.com/tensortap/tensortap/internal/plural"
)

// Verdict is the answer of a comparison.
type Verdict string

// The verdicts: with Unknown nothing differs in the stored rows, but too many are missing to
// decide.
const (
	Same    Verdict = "same"
	Differs Verdict = "differs"
	Unknown Verdict = "unknown"
)

// Tally counts the tensors and other arguments that a verdict rests on.
type Tally struct {
	Places        uint64 // ranks and steps of either run
	Paired        uint64 // and judged
	Unknown       uint64 // paired or not
	Measured      uint64 // pairs with numbers
	Differing     uint64
	AloneUnknown  uint64 // without a partner, as their rank or step is not in both runs
	BitsDiffer    uint64 // under the same statistics
	SameNotFinite uint64 // NaN or infinity on both sides
	OnlyProblem   uint64 // of both runs' ranks and steps
	OnlyBench     uint64
}

// Tally adds up the rows of a report that has a row for every rank and step.
func (t Table) Tally() Tally {
	return Tally{
		Places: uint64(len(t.Rows)), Paired: t.Sum("paired_count"), Unknown: t.Sum("unknown_count"), Measured: t.Sum("measured_count"),
		Differing: t.Sum("differing_count"), AloneUnknown: t.Sum("alone_unknown_count"), BitsDiffer: t.Sum("bits_differ_count"),
		SameNotFinite: t.Sum("same_not_finite_count"), OnlyProblem: t.Sum("only_problem_count"), OnlyBench: t.Sum("only_bench_count"),
	}
}

// Plus adds the counts of another part of the same runs.
func (t Tally) Plus(o Tally) Tally {
	t.Places += o.Places
	t.Paired += o.Paired
	t.Unknown += o.Unknown
	t.Measured += o.Measured
	t.Differing += o.Differing
	t.AloneUnknown += o.AloneUnknown
	t.BitsDiffer += o.BitsDiffer
	t.SameNotFinite += o.SameNotFinite
	t.OnlyProblem += o.OnlyProblem
	t.OnlyBench += o.OnlyBench
	return t
}

// Judge is the verdict, and the reason of Unknown.
func (t Tally) Judge(complete bool) (Verdict, string) {
	if t.Differing > 0 {
		return Differs, ""
	}
	if doubt := t.doubt(complete); doubt != noDoubt {
		return Unknown, t.because(doubt)
	}
	return Same, ""
}

// doubt is the reason of Unknown, empty where nothing is in doubt.
type doubt int

const (
	noDoubt doubt = iota
	nothingRecorded
	nothingInCommon
	nothingMeasured
	notAllThere
	someStandAlone
	notReadWhole
	rawNotRead
	mostStandAlone
	onlyChecksumsDiffer
	bothNotFinite
	onlyChance
)

func (t Tally) doubt(complete bool) doubt {
	switch {
	case t.Places == 0:
		return nothingRecorded
	case t.Paired+t.Unknown == t.AloneUnknown:
		return nothingInCommon
	case t.Measured == 0:
		return nothingMeasured
	case !complete:
		return notAllThere
	case t.AloneUnknown > 0:
		return someStandAlone
	case min(t.OnlyProblem, t.OnlyBench) > t.Paired:
		return mostStandAlone
	case t.BitsDiffer > 0:
		return onlyChecksumsDiffer
	case t.SameNotFinite > 0:
		return bothNotFinite
	case t.Paired == 0:
		return onlyChance
	}
	return noDoubt
}

// because is a doubt in words.
func (t Tally) because(d doubt) string {
	switch d {
	case nothingRecorded:
		return "neither run has tensors or other arguments"
	case nothingInCommon:
		return "no tensor is in both runs: their steps, ranks or ops have no name in common"
	case nothingMeasured:
		return "nothing was measured that can be compared"
	case notAllThere:
		return "nothing differs in what is there, but not all is there"
	case someStandAlone:
		return tensors(t.AloneUnknown) + " stand alone, as their rank or step is not in both runs"
	case mostStandAlone:
		return fmt.Sprintf("nothing differs in %s of both runs, but most have no partner: %s are only in the problem, %s only in the bench",
			tensors(t.Paired), thousands(t.OnlyProblem), thousands(t.OnlyBench))
	case onlyChecksumsDiffer:
		return tensors(t.BitsDiffer) + " have the same statistics but other bits, by checksums that prove neither way"
	case bothNotFinite:
		return tensors(t.SameNotFinite) + " hold NaN or infinity on both sides, and what lies behind that cannot be compared"
	case onlyChance:
		return "all that is in both runs differs by chance, such as memory that nobody wrote"
	case notReadWhole, rawNotRead, noDoubt:
	}
	return ""
}

func tensors(n uint64) string { return plural.Of(int(n), "tensor") } //nolint:gosec // a count of rows
