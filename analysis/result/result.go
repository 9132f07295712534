// Package result collects, place by place, the results of a comparison, and gives the rows of its
// reports. A place is one step of one rank. Memory grows with the number of places and with the
// rows shown, not with the tensors judged. It is pure: no I/O, no clock.
package result

import (
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/origin"
	"github.com/tensortap/tensortap/schemas"
)

// Options bound the rows kept. Begin with DefaultOptions.
type Options struct {
	Limit         int  // rows that differ
	UnpairedLimit int  // ops of one run only, or with an unknown verdict
	Strict        bool // an op of one run only is where the runs begin to differ
	Texts         bool // arguments that are text, such as ids of requests, are among the rows that differ
	// Implementations says that the runs are two implementations of a model, so that ops of one run only are no reason.
	Implementations bool
	// Excused says of a site whether NaN or infinity is known to be no fault there; nil where none is.
	Excused func(site uint64) bool
}

// DefaultOptions keep as much as is stored with a comparison.
func DefaultOptions() Options {
	return Options{Limit: 1000, UnpairedLimit: 100, Excused: func(uint64) bool { return false }}
}

// Result is the result of a comparison: the rows of its reports, in their order.
type Result struct {
	Summary    []StepSummary     // divergence_summary and judged_steps
	Divergence []Difference      // divergence: without texts while anything else differs
	Origins    []Origin          // origin
	Firsts     []FirstDifference // first_divergence
	Jumps      []Jump            // jump
	Layers     []Layer           // layers: of the first step that differs
	Unpaired   []Unpaired        // unpaired
}

// Difference is a pair that differs, with names for its ids.
type Difference struct {
	judge.Judged
	Op, Module, Role, Path string
	BenchOp                string             // where it is another op than the problem's
	Parent                 string             // op that called it
	UserFrame              string             // line of the user's own code that called it
	ProblemLayout          *schemas.LayoutRow // never nil: the zero row where it is not known
	BenchLayout            *schemas.LayoutRow

	ownModule string // path of the op, if it is a module itself
}

// Origin is where the difference began on a rank: no other rank's first difference precedes it.
type Origin struct {
	Difference
	Kind           origin.Kind
	Parameter      string // parameter of the calling module that has the very values
	Operation      string // ops of one run only that stand directly before or returned it, or the other op in its place
	AtOrBefore     bool   // not all that ran before was observed, so it may have begun there
	Unseen         string // gaps before it, and their reasons, in words
	MicroSteps     uint16 // how many the step has on that rank
	DifferingCount uint64 // of the rank, all steps
	Concurrent     int    // how many origins there are
}

// FirstDifference is the first difference on a rank.
type FirstDifference struct {
	Difference
	ErrorIn        float64 // greatest error of its op's inputs; NaN where none is known
	ErrorOut       float64 // and of its outputs
	DifferingCount uint64
}

// Unpaired is an op that one run has alone, or that cannot be judged.
type Unpaired struct {
	Rank, Step uint32
	Side       string // problem, bench or both
	Op, Module string
	Reason     string
	RowCount   uint64
	Position   uint64
}

// Jump is the place where the error of a rank grows by orders of magnitude against all errors before it, if that is
// not the rank's first difference: noise before a fault must not hide it.
type Jump struct {
	Difference
	NoiseBefore float64 // greatest error before
}

// Layer is the distance of the runs in one layer of the model and one direction, in one step.
type Layer struct {
	Step           uint32
	Direction      string // forward or backward
	Index          int32  // -1: outside of the layers
	Name           string // empty outside of the layers
	PairedCount    uint64
	DifferingCount uint64
	NotFiniteCount uint64
	GreatestError  float64 // of the finite ones; NaN where NaN or infinity differs and no finite error is above 0
}
