package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/tensortap/tensortap/internal/plural"
)

// Comparison has the facts about two runs, or more, that are compared.
type Comparison struct {
	Problem         string
	Benches         []string // the first is paired with; with more, their spread is the tolerance
	Verdict         Verdict
	Tolerance       string // in words
	Strict          bool   // what exists on one side only makes the runs differ
	StepOffset      int64  // added to a step of the problem for that of the bench
	LeftOut         LeftOut
	Recorded        [2]Recorded // of problem and bench
	Summary         Table       // divergence_summary
	Divergence      Table       // divergence: numbers, dtypes and shapes; where only arguments differ, those
	Remembered      Table       // of those rows, the ones that are stored with a comparison
	Origins         Table       // origin
	Layers          Table       // layers
	Jumps           Table       // jump; no columns where nobody asked
	Unpaired        Table       // unpaired, the first ones
	RunDifferences  Table       // run_differences
	Completeness    Table       // completeness of all runs
	ProblemArgument string      // what to write for the runs in the next command
	BenchArgument   string
	Asked           Asked    // what else to write there
	Warnings        []string // what of the dumps could not be read, the first ones
	WarningCount    int
	BadAlone        [2]uint64 // tensors of problem and bench without partner that hold NaN or infinity
	Damage          []string  // of the warnings, what of the dumps is damaged, the first ones
	Raw             RawTensors
	Failures        Table   // ops of the runs that raised; no columns where nobody asked
	Stored          bool    // the runs stay stored, so that reports can be asked for
	Merges          []Merge // what was made of runs whose ranks had to be merged first
	Parts           []Part  // of merged ranks, whose part each origin is
	Calibrated      *Calibration
	Mapped          *Mapped // what was compared under a map of two implementations; nil without one
	Tokens          TokenRows
}

// RawTensors counts the pairs of raw tensors that both runs kept; all 0 where nobody asked.
type RawTensors struct {
	Compared   int    `json:"compared"`   // element by element
	Unreadable int    `json:"unreadable"` // a file of either run is missing or damaged
	First      string `json:"-"`          // of the unreadable ones, with its place, file and reason
}

// LeftOut counts the steps that a run left out for its budget of time or its conditions, and the other has. They are not compared.
type LeftOut struct {
	Problem int `json:"problem"`
	Bench   int `json:"bench"`
}

// Recorded is how a run was recorded; what is not known is empty.
type Recorded struct {
	Source, Level, Task string
	Live                bool     // some of its ranks can be asked for more
	Steps               []uint32 // that it has, in ascending order
	Hidden              []Hidden // what of its models no hook saw
}

// Bench is the run that the problem was paired with.
func (c *Comparison) Bench() string { return c.Benches[0] }

// Runs are the names of all runs, the problem's first.
func (c *Comparison) Runs() []string { return append([]string{c.Problem}, c.Benches...) }

// Judge reads the verdict off the counts.
func (c *Comparison) Judge() Verdict {
	if c.Strict && c.unpaired() > 0 {
		return Differs
	}
	switch {
	case c.Summary.Tally().Differing > 0:
		return Differs
	case c.doubt() != noDoubt:
		return Unknown
	}
	return Same
}

// doubt is why nothing can be said, where nothing differs. What has no partner on either side may be there unread.
func (c *Comparison) doubt() doubt {
	tally := c.Summary.Tally()
	d := tally.doubt(c.incomplete() == "")
	if (d == noDoubt || d == mostStandAlone) && len(c.Damage) > 0 && min(tally.OnlyProblem, tally.OnlyBench) > 0 {
		return notReadWhole
	}
	if d == noDoubt && c.Raw.Unreadable > 0 {
		return rawNotRead
	}
	return d
}

func (c *Comparison) unpaired() uint64 {
	return c.Summary.Sum("only_problem_count") + c.Summary.Sum("only_bench_count")
}

// Unlisted is how many rows differ that Divergence does not have.
func (c *Comparison) Unlisted() uint64 {
	all, listed := c.Summary.Sum("differing_count"), uint64(len(c.Divergence.Rows))
	return all - min(all, listed)
}

// unknown is the reason of the verdict unknown.
func (c *Comparison) unknown() string {
	if c.onlyTokens() {
		return "neither run has tensors or other arguments; both have tokens, which are compared by themselves"
	}
	switch d := c.doubt(); d {
	case notReadWhole:
		return "a dump is damaged, and tensors of both runs have no partner: " + Printable(c.Damage[0])
	case rawNotRead:
		return fmt.Sprintf("%s of raw tensors could not be read, the first at %s", plural.Of(c.Raw.Unreadable, "pair"), Printable(c.Raw.First))
	default:
		return c.Summary.Tally().because(d)
	}
}

// Gaps describes each row of the completeness report that is not complete.
func (t Table) Gaps() []string {
	var gaps []string
	for i := range t.Rows {
		if !t.Get(i, "complete").True() {
			gaps = append(gaps, fmt.Sprintf("run %s rank %s: %s", t.Get(i, "run").Text(), t.Get(i, "rank").Text(), t.Get(i, "explanation").Text()))
		}
	}
	return gaps
}

// incomplete lists the gaps, empty when there are none.
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
