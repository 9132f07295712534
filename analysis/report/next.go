package report

import (
	"fmt"
	"slices"
	"strings"
)

// advice collects the next steps, the most useful first.
type advice struct {
	*Comparison
	style Style
	lines []string
}

// Next is a next step: commands to paste, where there is one, else a sentence.
func (c *Comparison) Next(style Style) []string {
	a := advice{Comparison: c, style: style}
	switch c.Verdict {
	case Same:
		if c.byStatisticsAlone() {
			a.prove()
		}
	case Unknown:
		a.complete()
	case Differs:
		a.explain()
		a.sameInputs()
		a.closer()
	}
	return a.lines
}

// byStatisticsAlone says whether nothing proves that any pair is equal, or as near as is tolerated.
func (c *Comparison) byStatisticsAlone() bool {
	return c.Summary.Sum("within_count")+c.Summary.Sum("proved_equal_count") == 0
}

func (a *advice) say(format string, words ...any) {
	a.lines = append(a.lines, fmt.Sprintf(format, words...))
}

// command adds a command of this program.
func (a *advice) command(format string, words ...any) {
	a.say("%s "+format, append([]any{a.style.program()}, words...)...)
}

// compare adds this comparison once more, asked otherwise.
func (a *advice) compare(flags string) {
	a.command("compare %s %s %s", a.ProblemArgument, a.BenchArgument, flags)
}

// explain shows more of the differences.
func (a *advice) explain() {
	origins := (&note{Comparison: a.Comparison}).origins()
	switch {
	case a.MapArgument != "":
		a.compare("--map " + a.MapArgument + " --limit 100 --output csv")
	case !a.Stored:
		if len(a.Merges) == 0 {
			a.explainOp(origins)
		}
		a.compare("--limit 100 --output csv")
		a.say("%[1]s up, publish both with %[2]s, and ask %[1]s report", a.style.program(), a.publishing())
	case len(origins.Rows) > 0:
		a.explainOp(origins)
		a.command("report divergence --problem %s --bench %s --texts 0 --limit 100", a.ProblemArgument, a.BenchArgument)
	default:
		a.alone()
	}
}

// explainOp shows the op of the origin, where that is known.
func (a *advice) explainOp(origins Table) {
	if len(origins.Rows) > 0 {
		a.command("explain --problem %s --bench %s --op %s", a.ProblemArgument, a.BenchArgument, Argument(origins.Get(0, "op").Exact))
	}
}

// alone shows the ops without partner.
func (a *advice) alone() {
	switch {
	case a.unpaired() == 0:
	case a.Stored:
		a.command("report unpaired --problem %s --bench %s", a.ProblemArgument, a.BenchArgument)
	case len(a.Tools) > 0:
		a.say("%[1]s up, publish both with %[2]s, and ask %[1]s report unpaired", a.style.program(), a.publishing())
	}
}

// publishing has the commands that store folders: one for each tool that wrote one.
func (a *advice) publishing() string {
	var commands []string
	for _, tool := range a.Tools {
		command := a.style.program() + " publish " + tool + " DIR --run NAME"
		if !slices.Contains(commands, command) {
			commands = append(commands, command)
		}
	}
	return strings.Join(commands, " and ")
}

// sameInputs says that runs which are given other data cannot but differ.
func (a *advice) sameInputs() {
	if len(a.Origins.Rows) > 0 && a.Origins.Get(0, "kind").Exact == "data" {
		a.say("give both the same inputs, in the same order: what came from outside of the model differs")
	}
}
