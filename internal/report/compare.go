package report

import (
	"fmt"
	"math"
	"strings"
)

// Comparison is what is known of two runs, or more, held against each other.
type Comparison struct {
	Problem         string
	Benches         []string // the first is paired with; with more, their spread is the tolerance
	Verdict         Verdict
	Tolerance       string // in words
	Strict          bool   // what exists on one side only makes the runs differ
	Summary         Table  // divergence_summary
	Divergence      Table  // divergence: numbers, dtypes and shapes; where only arguments differ, those
	Remembered      Table  // of those rows, the ones that are stored with a comparison
	Origins         Table  // origin
	Layers          Table  // layers
	Unpaired        Table  // unpaired, the first ones
	RunDifferences  Table  // run_differences
	Completeness    Table  // completeness of all runs
	ProblemArgument string // what to write for the runs in the next command
	BenchArgument   string
	Warnings        []string // what of the dumps could not be read, the first ones
	WarningCount    int
	PayloadPairs    int  // of raw tensors that were compared element by element
	Stored          bool // the runs stay stored, so that reports can be asked for
}

// Bench is the run that the problem was paired with.
func (c *Comparison) Bench() string { return c.Benches[0] }

// Runs are the names of all runs, the problem's first.
func (c *Comparison) Runs() []string { return append([]string{c.Problem}, c.Benches...) }

// Verdict is the answer of a comparison.
type Verdict string

// The verdicts: with Unknown nothing differs in what is there, but too much is missing to say more.
const (
	Same    Verdict = "same"
	Differs Verdict = "differs"
	Unknown Verdict = "unknown"
)

// Judge reads the verdict off the counts.
func (c *Comparison) Judge() Verdict {
	switch {
	case c.Summary.Sum("differing_count") > 0, c.Strict && c.unpaired() > 0:
		return Differs
	case c.unknown() != "":
		return Unknown
	}
	return Same
}

func (c *Comparison) unpaired() uint64 {
	return c.Summary.Sum("only_problem_count") + c.Summary.Sum("only_bench_count")
}

// unknown says why nothing can be said, where nothing differs.
func (c *Comparison) unknown() string {
	switch {
	case len(c.Summary.Rows) == 0:
		return "neither run has tensors or other arguments"
	case c.Summary.Sum("paired_count") == 0:
		return "no tensor is in both runs: their steps, ranks or ops have no name in common"
	case c.Summary.Sum("measured_count") == 0:
		return "nothing was measured that can be compared"
	case c.incomplete() != "":
		return "nothing differs in what is there, but not all is there"
	case c.Summary.Sum("alone_unknown_count") > 0:
		return fmt.Sprintf("%s stand alone, as their rank or step is not in both runs", plural(int(c.Summary.Sum("alone_unknown_count")), "tensor")) //nolint:gosec // a count of rows
	case c.Summary.Sum("bits_differ_count") > 0:
		return fmt.Sprintf("%s have the same statistics but other bits, by checksums that prove neither way", plural(int(c.Summary.Sum("bits_differ_count")), "tensor")) //nolint:gosec // a count of rows
	case c.Summary.Sum("same_not_finite_count") > 0:
		return fmt.Sprintf("%s hold NaN or infinity on both sides, and what lies behind that cannot be compared", plural(int(c.Summary.Sum("same_not_finite_count")), "tensor")) //nolint:gosec // a count of rows
	}
	return ""
}

// Gaps says, for each row of the completeness report that is not complete, what is missing.
func (t Table) Gaps() []string {
	var gaps []string
	for i := range t.Rows {
		if complete := t.Get(i, "complete").Exact; complete != "1" && complete != "true" {
			gaps = append(gaps, fmt.Sprintf("run %s rank %s: %s", t.Get(i, "run").Text(), t.Get(i, "rank").Text(), t.Get(i, "explanation").Text()))
		}
	}
	return gaps
}

// incomplete says what is missing, empty when nothing is.
func (c *Comparison) incomplete() string {
	gaps := c.Completeness.Gaps()
	const shown = 3
	if len(gaps) > shown {
		gaps = append(gaps[:shown], fmt.Sprintf("and %d more", len(gaps)-shown))
	}
	return strings.Join(gaps, "; ")
}

// Sum adds up a column of counts.
func (t Table) Sum(column string) uint64 {
	sum := 0.0
	for i := range t.Rows {
		if n := t.Get(i, column).Number; !math.IsNaN(n) {
			sum += n
		}
	}
	return uint64(sum)
}
