package report

import (
	"fmt"
	"io"
	"strings"
)

// note collects the lines of a comparison's text.
type note struct {
	*Comparison
	text  strings.Builder
	color bool
}

// WriteNote writes the comparison as a good engineer would, on one screen. On
// a terminal the verdict is coloured.
func (c *Comparison) WriteNote(to io.Writer, color bool) error {
	n := &note{Comparison: c, color: color}
	if gaps := c.incomplete(); gaps != "" {
		n.line("INCOMPLETE", "%s", gaps)
	}
	n.verdict()
	n.counts()
	n.runDifferences()
	n.first()
	n.others()
	n.next()
	_, err := io.WriteString(to, n.text.String())
	return err
}

// line writes a label and, beside it, what it is about.
func (n *note) line(label, format string, values ...any) {
	fmt.Fprintf(&n.text, "%-12s ", label)
	fmt.Fprintf(&n.text, format, values...)
	n.text.WriteByte('\n')
}

func (n *note) verdict() {
	word := fmt.Sprintf("%-12s", strings.ToUpper(string(n.Verdict)))
	if n.color {
		word = map[Verdict]string{Same: "\x1b[32m", Differs: "\x1b[31m", Unknown: "\x1b[33m"}[n.Verdict] + word + "\x1b[0m"
	}
	n.line(word, "problem %s against bench %s", Printable(n.Problem), Printable(n.Bench))
	if n.Verdict == Unknown {
		n.line("", "%s", n.unknown())
	}
}

func (n *note) counts() {
	ranks, steps := map[string]bool{}, map[string]bool{}
	for i := range n.Summary.Rows {
		if n.Summary.Get(i, "paired_count").Number > 0 {
			ranks[n.Summary.Get(i, "rank").Exact], steps[n.Summary.Get(i, "step").Exact] = true, true
		}
	}
	count := func(column string) string { return thousands(n.Summary.Sum(column)) }
	n.line("compared", "%s tensors and other arguments, %s, %s: %s differ, %s agree within %g, %s were not measured",
		count("paired_count"), plural(len(ranks), "rank"), plural(len(steps), "step"),
		count("differing_count"), count("agrees_count"), n.Tolerance, count("unmeasured_count"))
	if arguments := n.Summary.Sum("argument_count"); arguments > 0 {
		n.line("", "%s of those that differ are arguments without numbers, such as ids of requests", thousands(arguments))
	}
	n.line("unpaired", "%s only in the problem, %s only in the bench", count("only_problem_count"), count("only_bench_count"))
}

func (n *note) runDifferences() {
	label := "runs differ"
	for i := range n.RunDifferences.Rows {
		n.line(label, "%s: %s, bench %s", n.RunDifferences.Get(i, "property").Text(),
			orUnknown(n.RunDifferences.Get(i, "problem")), orUnknown(n.RunDifferences.Get(i, "bench")))
		label = ""
	}
}

// first says where the difference began.
func (n *note) first() {
	if len(n.Divergence.Rows) == 0 {
		return
	}
	get := func(column string) string { return n.Divergence.Get(0, column).Text() }
	n.line("began at", "step %s, rank %s, op %s", get("step"), get("rank"), get("op"))
	if get("module") != "" {
		n.line("", "in module %s", get("module"))
	}
	n.line("", "%s %s: %s", get("role"), get("path"), n.what(0))
	n.side("problem")
	n.side("bench")
	if frame := n.Divergence.Get(0, "user_frame"); !frame.Null && frame.Exact != "" {
		n.line("", "called at %s", Printable(strings.Join(strings.Fields(frame.Exact), " ")))
	}
}

// side describes the first differing tensor, or other argument, of one run.
func (n *note) side(run string) {
	get := func(column string) string { return n.Divergence.Get(0, run+"_"+column).Text() }
	if get("dtype") == "" {
		n.line("", "%-8s %s", run, get("literal"))
		return
	}
	n.line("", "%-8s %s %s  min %s  max %s  mean %s  l2 %s", run, get("dtype"), get("shape"), get("min"), get("max"), get("mean"), get("l2"))
}

// what says how a row differs.
func (n *note) what(i int) string {
	get := func(column string) string { return n.Divergence.Get(i, column).Text() }
	text := get("kind")
	switch text {
	case "diverged":
		text = "relative error " + get("error")
	case "not_finite":
		text = "NaN or infinity in " + get("not_finite_side")
	case "bits_differ":
		text = "bits differ"
	case "structure":
		text = ""
	}
	if get("structure") != "" {
		text = strings.TrimPrefix(text+", another "+get("structure"), ", ")
	}
	return text + " (by " + get("evidence") + ")"
}

// others lists the rows after the first, a line each.
func (n *note) others() {
	const most = 6 // of one screen
	shown := min(len(n.Divergence.Rows), most)
	label := "then"
	for i := 1; i < shown; i++ {
		get := func(column string) string { return n.Divergence.Get(i, column).Text() }
		n.line(label, "step %s rank %s  %s  %s %s: %s", get("step"), get("rank"), get("op"), get("role"), get("path"), n.what(i))
		label = ""
	}
	if all := n.Summary.Sum("differing_count"); all > uint64(shown) {
		n.line("", "and %s more", thousands(all-uint64(shown)))
	}
}

func (n *note) next() {
	switch {
	case n.Verdict == Same:
	case n.Stored:
		n.line("next", "tensortap report divergence --problem %s --bench %s --texts 0%s --limit 100", n.ProblemArgument, n.BenchArgument, n.unpaired())
	default:
		n.line("next", "tensortap compare %s %s --limit 100 --output csv", n.ProblemArgument, n.BenchArgument)
		n.line("or", "tensortap up, publish both with tensortap publish msprobe DIR --run NAME, and ask tensortap report")
	}
}

// unpaired is the flag that lists what exists in one run only, if anything does.
func (n *note) unpaired() string {
	if n.Summary.Sum("only_problem_count")+n.Summary.Sum("only_bench_count") == 0 {
		return ""
	}
	return " --unpaired 1"
}

func orUnknown(v Value) string {
	if v.Null || v.Exact == "" {
		return "not known"
	}
	return v.Text()
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func thousands(n uint64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
