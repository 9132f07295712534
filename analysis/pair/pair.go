// Package pair pairs the ranks, steps, ops of different programs, and so tensors, of problem and
// bench. It is pure: no I/O.
package pair

// Ranks is a rank of the problem and its partner.
type Ranks struct {
	Problem, Bench uint32
	Reason         string // number, coordinates or replica
}

// Step is a step of a rank of either run beside its partner, if it has one.
type Step struct {
	Rank, Step                   uint32 // of the problem; for a place of the bench alone, the numbers that its partner would have
	BenchRank, BenchStep         uint32
	InProblem, InBench           bool   // whether the run has the step; both may be true though one of them has not ended
	ProblemProgram, BenchProgram uint64 // 0 where not known
	ProblemRows, BenchRows       uint64 // tensors that were recorded; known once they were read
}
