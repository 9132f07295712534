package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/tensortap/tensortap/internal/plural"
)

// note collects the lines of a comparison's text.
type note struct {
	*Comparison
	text  strings.Builder
	style Style
}

// WriteNote writes the comparison as a good engineer would, on one screen. On
// a terminal the verdict is coloured.
func (c *Comparison) WriteNote(to io.Writer, style Style) error {
	n := &note{Comparison: c, style: style}
	n.incomplete()
	n.verdict()
	n.runDifferences()
	for _, merge := range n.Merges {
		n.line("merged", "%s", merge.words())
	}
	n.onlySteps()
	n.leftOut()
	n.counts()
	n.observed()
	n.hidden()
	n.alone()
	n.raised()
	n.began()
	n.others()
	n.jumps()
	n.layers()
	n.next()
	_, err := io.WriteString(to, n.text.String())
	return err
}

// WriteVerdict writes the most important part of the note: the verdict, where the difference began, and the next
// step.
func (c *Comparison) WriteVerdict(to io.Writer, style Style) error {
	n := &note{Comparison: c, style: style}
	n.incomplete()
	n.verdict()
	n.hidden()
	n.began()
	n.next()
	_, err := io.WriteString(to, n.text.String())
	return err
}

// line writes a label and, beside it, its text.
func (n *note) line(label, format string, values ...any) {
	fmt.Fprintf(&n.text, "%-12s ", label)
	fmt.Fprintf(&n.text, format, values...)
	n.text.WriteByte('\n')
}

// command writes a label and, beside it, a command of this program.
func (n *note) command(label, format string, words ...any) {
	n.line(label, "%s "+format, append([]any{n.style.program()}, words...)...)
}

func (n *note) incomplete() {
	if gaps := n.Comparison.incomplete(); gaps != "" {
		n.line("INCOMPLETE", "%s", gaps)
	}
}

func (n *note) observed() {
	if observed := n.Comparison.observed(); observed != "" {
		n.line("observed", "%s", observed)
	}
}

// verdict is the verdict as a label, coloured on a terminal.
func (s Style) verdict(v Verdict) string {
	word := fmt.Sprintf("%-12s", strings.ToUpper(string(v)))
	if s.Color {
		word = map[Verdict]string{Same: "\x1b[32m", Differs: "\x1b[31m", Unknown: "\x1b[33m"}[v] + word + "\x1b[0m"
	}
	return word
}

func (n *note) verdict() {
	n.line(n.style.verdict(n.Verdict), "problem %s against bench %s", Printable(n.Problem), Printable(n.Bench()))
	if more := len(n.Benches) - 1; more > 0 {
		n.line("", "and %s; %s", plural.Of(more, "further bench run"), n.band())
	}
	switch {
	case n.Verdict == Unknown:
		n.line("", "%s", n.unknown())
	case n.Verdict == Same && n.byStatisticsAlone() && n.Mapped == nil:
		n.line("", "as far as statistics can tell: they prove differences, not equality")
	}
	if n.Verdict == Same && n.Tokens.any() {
		n.line("", "of tensors alone: both runs have tokens, which are compared by themselves")
	}
	n.mapped()
}

// mapped names the map of two implementations.
func (n *note) mapped() {
	switch {
	case n.Mapped == nil:
	case n.Verdict == Same && n.byStatisticsAlone():
		n.line("", "as far as statistics can tell, under the map %s", Printable(n.Mapped.Name))
	default:
		n.line("", "under the map %s", Printable(n.Mapped.Name))
	}
}

// band says how several bench runs are used.
func (n *note) band() string {
	const enough = 3
	if len(n.Benches) < enough {
		return fmt.Sprintf("their spread is no tolerance, that takes %d", enough)
	}
	return "their spread is the tolerance"
}

// runDifferences tells the first properties that differ: the others are known less to change numbers.
func (n *note) runDifferences() {
	const most = 8
	label := "runs differ"
	for i := range n.RunDifferences.Rows {
		if i == most {
			n.line(label, "%d more, less known to change numbers: --output json has all", len(n.RunDifferences.Rows)-most)
			return
		}
		n.line(label, "%s: %s, bench %s", n.RunDifferences.Get(i, "property").Text(),
			orUnknown(n.RunDifferences.Get(i, "problem")), orUnknown(n.RunDifferences.Get(i, "bench")))
		label = ""
	}
}

// onlySteps says which steps were paired where each side has only one, of another number.
func (n *note) onlySteps() {
	problem, bench := n.Recorded[0].Steps, n.Recorded[1].Steps
	if n.StepOffset != 0 && len(problem) == 1 && len(bench) == 1 && int64(problem[0])+n.StepOffset == int64(bench[0]) {
		n.line("steps", "step %d beside step %d, the only one of each", problem[0], bench[0])
	}
}

// leftOut says how many steps are in one run alone, as the other had no time for them.
func (n *note) leftOut() {
	label := "budget"
	for _, side := range []struct {
		run string
		n   int
	}{{n.Problem, n.LeftOut.Problem}, {n.Bench(), n.LeftOut.Bench}} {
		if side.n > 0 {
			n.line(label, "run %s left out %s of the other for its budget or conditions; those are not compared", Printable(side.run), plural.Of(side.n, "step"))
			label = ""
		}
	}
}

func (n *note) counts() {
	if n.onlyTokens() {
		return
	}
	ranks, steps := map[string]bool{}, map[string]bool{}
	for i := range n.Summary.Rows {
		if n.Summary.Get(i, "paired_count").Number > 0 {
			ranks[n.Summary.Get(i, "rank").Exact], steps[n.Summary.Get(i, "step").Exact] = true, true
		}
	}
	label := "compared"
	if n.Mapped != nil {
		n.line(label, "%s", n.Mapped.words())
		label = ""
		if n.Mapped.Noise != nil {
			n.line(label, "%s", n.Mapped.Noise.words())
		}
	}
	if n.Calibrated != nil {
		n.line(label, "%s", n.Calibrated.words())
		label = ""
	}
	n.line(label, "%s tensors and other arguments, %s, %s, tolerance %s:", thousands(n.Summary.Sum("paired_count")),
		plural.Of(len(ranks), "rank"), plural.Of(len(steps), "step"), Printable(n.Tolerance))
	n.line("", "%s", n.judged())
	if n.Raw.Compared > 0 {
		n.line("", "%s of raw tensors were compared element by element", plural.Of(n.Raw.Compared, "pair"))
	}
	if n.Raw.Unreadable > 0 {
		n.line("", "%s of raw tensors could not be read", plural.Of(n.Raw.Unreadable, "pair"))
	}
	if arguments := n.Summary.Sum("argument_count"); arguments > 0 {
		n.line("", "%s of those of other structure are arguments without numbers, such as ids of requests", thousands(arguments))
	}
}

// judged names the verdicts that occur.
func (n *note) judged() string {
	var parts []string
	for _, v := range []struct{ column, words string }{
		{"diverged_count", "diverged"},
		{"not_finite_count", "not finite"},
		{"structure_count", "of other structure"},
		{"bits_differ_count", "differ in their bits"},
		{"agrees_count", "agree as far as was recorded"},
		{"within_count", "within tolerance"},
		{"equal_count", "equal"},
	} {
		if count := n.Summary.Sum(v.column); count > 0 {
			parts = append(parts, thousands(count)+" "+v.words)
		}
	}
	return strings.Join(parts, ", ")
}

// alone counts the ops without partner, with the first ones by name.
func (n *note) alone() {
	if n.onlyTokens() {
		return
	}
	n.line("unpaired", "%s only in the problem, %s only in the bench, %s unknown", thousands(n.Summary.Sum("only_problem_count")),
		thousands(n.Summary.Sum("only_bench_count")), thousands(n.Summary.Sum("unknown_count")))
	const most = 3
	for i := range n.Unpaired.Rows[:min(most, len(n.Unpaired.Rows))] {
		get := func(column string) string { return n.Unpaired.Get(i, column).Text() }
		n.line("", "step %s rank %s  %s: %s", get("step"), get("rank"), get("op"), get("reason"))
	}
	for i, run := range []string{"problem", "bench"} {
		if bad := n.BadAlone[i]; bad > 0 {
			n.line("", "of those of the %s, %s hold NaN or infinity", run, thousands(bad))
		}
	}
}

// raised says which ranks of either run raised.
func (n *note) raised() {
	label := "raised"
	for _, line := range FailureLines(n.Failures) {
		n.line(label, "%s", line)
		label = ""
	}
}

// next writes the next steps, a line each.
func (n *note) next() {
	label := "next"
	for _, line := range n.Next(n.style) {
		n.line(label, "%s", line)
		label = "or"
	}
}

func orUnknown(v Value) string {
	if v.Null || v.Exact == "" {
		return "not known"
	}
	return v.Text()
}

func thousands(n uint64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
