package report

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Comparison is what is known of two runs held against each other.
type Comparison struct {
	Problem, Bench  string
	Verdict         Verdict
	Tolerance       float64
	Summary         Table // divergence_summary
	Divergence      Table // divergence
	RunDifferences  Table // run_differences
	Completeness    Table // completeness of both runs
	Seconds         float64
	ProblemArgument string // what to write for the runs in the next command
	BenchArgument   string
	Stored          bool // the runs stay stored, so that reports can be asked for
}

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
	case c.Summary.Sum("differing_count") > 0:
		return Differs
	case c.Summary.Sum("paired_count") == 0 || c.incomplete() != "":
		return Unknown
	}
	return Same
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

// WriteNote writes the comparison as a good engineer would, on one screen.
func (c *Comparison) WriteNote(to io.Writer) error {
	var b strings.Builder
	if gaps := c.incomplete(); gaps != "" {
		line(&b, "INCOMPLETE", "%s", gaps)
	}
	line(&b, strings.ToUpper(string(c.Verdict)), "problem %s against bench %s", printable(c.Problem), printable(c.Bench))
	line(&b, "compared", "%s", c.compared())
	line(&b, "unpaired", "%s only in the problem, %s only in the bench", plural(c.Summary.Sum("only_problem_count"), "tensor"), plural(c.Summary.Sum("only_bench_count"), "tensor"))
	for i := range c.RunDifferences.Rows {
		line(&b, label(i, "runs differ"), "%s: %s, bench %s", c.RunDifferences.Get(i, "property").Text(),
			orNothing(c.RunDifferences.Get(i, "problem")), orNothing(c.RunDifferences.Get(i, "bench")))
	}
	c.writeFirst(&b)
	c.writeOthers(&b)
	c.writeNext(&b)
	_, err := io.WriteString(to, b.String())
	return err
}

func line(b *strings.Builder, label, format string, values ...any) {
	fmt.Fprintf(b, "%-12s ", label)
	fmt.Fprintf(b, format, values...)
	b.WriteByte('\n')
}

// label is the label of the first of several lines.
func label(i int, text string) string {
	if i > 0 {
		return ""
	}
	return text
}

func orNothing(v Value) string {
	if v.Null || v.Exact == "" {
		return "not known"
	}
	return v.Text()
}

func plural(n uint64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return thousands(n) + " " + what + "s"
}

func thousands(n uint64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func (c *Comparison) compared() string {
	ranks, steps := map[string]bool{}, map[string]bool{}
	for i := range c.Summary.Rows {
		if c.Summary.Get(i, "paired_count").Number > 0 {
			ranks[c.Summary.Get(i, "rank").Exact], steps[c.Summary.Get(i, "step").Exact] = true, true
		}
	}
	return fmt.Sprintf("%s on both sides: %s, %s; %s differ, %s agree within %g",
		plural(c.Summary.Sum("paired_count"), "tensor"), plural(uint64(len(ranks)), "rank"), plural(uint64(len(steps)), "step"),
		thousands(c.Summary.Sum("differing_count")), thousands(c.Summary.Sum("agrees_count")), c.Tolerance)
}

// writeFirst says where the difference began.
func (c *Comparison) writeFirst(b *strings.Builder) {
	if len(c.Divergence.Rows) == 0 {
		return
	}
	get := func(column string) string { return c.Divergence.Get(0, column).Text() }
	line(b, "began at", "step %s, rank %s, op %s", get("step"), get("rank"), get("op"))
	if get("module") != "" {
		line(b, "", "in module %s", get("module"))
	}
	line(b, "", "%s %s: %s", get("role"), get("path"), c.what(0))
	for _, side := range []string{"problem", "bench"} {
		line(b, "", "%-8s %s %s  min %s  max %s  mean %s  l2 %s", side, get(side+"_dtype"), get(side+"_shape"),
			get(side+"_min"), get(side+"_max"), get(side+"_mean"), get(side+"_l2"))
	}
	if frame := c.Divergence.Get(0, "user_frame"); !frame.Null && frame.Exact != "" {
		line(b, "", "called at %s", strings.Join(strings.Fields(strings.ReplaceAll(frame.Exact, "\n", " ")), " "))
	}
}

// what says how a row differs.
func (c *Comparison) what(i int) string {
	get := func(column string) string { return c.Divergence.Get(i, column).Text() }
	text := get("kind")
	switch text {
	case "diverged":
		text = "relative error " + get("error")
	case "not_finite":
		text = "NaN or infinity in " + get("not_finite_side")
	case "bits_differ":
		text = "bits differ"
	case "structure":
		text = "another " + get("structure")
	}
	if get("kind") != "structure" && get("structure") != "" {
		text += ", another " + get("structure")
	}
	return text + " (by " + get("evidence") + ")"
}

// writeOthers lists the rows after the first, a line each.
func (c *Comparison) writeOthers(b *strings.Builder) {
	const shown = 6
	for i := 1; i < min(len(c.Divergence.Rows), shown); i++ {
		get := func(column string) string { return c.Divergence.Get(i, column).Text() }
		line(b, label(i-1, "then"), "step %s rank %s  %s  %s %s: %s", get("step"), get("rank"), get("op"), get("role"), get("path"), c.what(i))
	}
	if all := c.Summary.Sum("differing_count"); all > shown {
		line(b, "", "and %s more", thousands(all-shown))
	}
}

func (c *Comparison) writeNext(b *strings.Builder) {
	switch {
	case c.Verdict == Same:
		return
	case c.Stored:
		line(b, "next", "tensortap report divergence --problem %s --bench %s --limit 100", c.ProblemArgument, c.BenchArgument)
	default:
		line(b, "next", "tensortap compare %s %s --limit 100 --output csv", c.ProblemArgument, c.BenchArgument)
		line(b, "or", "tensortap up, publish both with tensortap publish msprobe DIR --run NAME, and ask tensortap report")
	}
}
