// Package judge judges each pair of tensors of two runs by the recorded evidence: equal, within,
// agrees, diverged and so on. It is pure: one function for each rule of docs/compare.md, no I/O, no
// clock, no database.
package judge

import "github.com/tensortap/tensortap/analysis/rows"

// Pair is a tensor of the problem beside a tensor of the bench; one of them may be absent.
type Pair struct {
	Rank      uint32 // of the problem
	BenchRank uint32
	Step      uint32 // of the problem
	BenchStep uint32
	InProblem bool
	InBench   bool
	Problem   rows.Observation // zero where the problem has none
	Bench     rows.Observation // zero where the bench has none
}

// Paired says whether both runs have the tensor.
func (p *Pair) Paired() bool { return p.InProblem && p.InBench }

// Own is the observation that places the pair: the problem's, or the bench's where it stands alone.
func (p *Pair) Own() *rows.Observation {
	if p.InProblem {
		return &p.Problem
	}
	return &p.Bench
}

// Class is the verdict on a pair.
type Class uint8

// The verdicts, in the order of the stored enumeration.
const (
	Equal Class = iota
	Within
	Agrees
	Diverged
	NotFinite
	Structure
	Unpaired
	Unknown
)

// IsKept says whether the pair is stored by itself. What agrees is counted, and neither it nor its error is kept.
func (j *Judged) IsKept() bool { return j.Differs || j.Class > Agrees }

// Numeric is the verdict on the numbers alone.
type Numeric uint8

// Verdicts on numbers, in the order of the stored enumeration.
const (
	NumericNone Numeric = iota
	NumericEqual
	NumericWithin
	NumericAgrees
	NumericDiverged
	NumericNotFinite
)

// Evidence is the evidence of a verdict.
type Evidence uint8

// The kinds of evidence, in the order of the stored enumeration.
const (
	EvidenceNone Evidence = iota
	EvidenceStatistics
	EvidenceSketch
	EvidenceXOR     // digest(xor), blind to the order of elements
	EvidenceMsprobe // digest(msprobe), CRC-32
	EvidenceDigest
	EvidencePayload
	EvidenceLiteral
)

// Side is the run that has NaN or infinity, or that alone has a tensor.
type Side uint8

// The sides, in the order of the stored enumeration.
const (
	SideNone Side = iota
	SideProblem
	SideBench
	SideBoth
)

// Verdict is the verdict on one pair. Errors are relative L2 errors; NaN where not known.
type Verdict struct {
	Class     Class
	Numeric   Numeric
	Evidence  Evidence
	Side      Side
	Structure bool    // dtype, shape, requires_grad or literal differs in a way that counts
	Differs   bool    // it makes the runs differ
	Error     float64 // as raw tensors or statistics measure it, or as sketches estimate it; statistics see part of it only
	ErrorLow  float64 // at least: proved by statistics, less their own rounding; of sketches the lower end of the 95 % interval, if that is greater
	ErrorHigh float64 // at most: upper end of the interval; +Inf where statistics bound the error from below only
	Tolerance float64
	ZScore    float64 // against the spread of three benches or more
	Reason    string  // why the verdict is unknown, or why a tensor stands alone; one of the Reason… constants
}

// Payload is the result of comparing the raw tensors of a pair, element by element.
type Payload struct {
	SameBits bool
	Error    float64 // relative L2; NaN where it could not be measured
}

// Setting has the facts about a pair's place that decide on a tensor without partner.
type Setting struct {
	ProblemIncomplete bool // something is missing of the rank of the problem
	BenchIncomplete   bool // or of its partner
	CommonStep        bool // both runs have the step, ended
}

// Judged is a pair with its verdict.
type Judged struct {
	Pair
	Verdict
}
