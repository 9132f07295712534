package report

import "fmt"

// advice collects the next steps, the most useful first.
type advice struct {
	*Comparison
	style Style
	lines []string
}

// Next is a next step: commands to paste, where there is one, else a sentence.
func (c *Comparison) Next(style Style) []string {
	a := advice{Comparison: c, style: style}
	if c.Verdict != Differs {
		a.badAlone()
		a.eagerly()
	}
	switch c.Verdict {
	case Same:
		a.byToken()
		if c.byStatisticsAlone() && a.level() != "tokens" {
			a.prove()
		}
	case Unknown:
		a.byToken()
		if !c.onlyTokens() {
			a.complete()
		}
	case Differs:
		a.explain()
		a.sameInputs()
		a.eagerly()
		a.closer()
		a.byToken()
	}
	return a.lines
}

// byStatisticsAlone says whether nothing proves that any pair is equal, or as near as is tolerated.
func (c *Comparison) byStatisticsAlone() bool {
	return c.Summary.Sum("within_count")+c.Summary.Sum("proved_equal_count") == 0
}

// badAlone looks at NaN and infinity that nothing is held against.
func (a *advice) badAlone() {
	if a.BadAlone[0] > 0 {
		a.command("overflow %s%s", a.ProblemArgument, a.Asked.forOverflow())
	}
	if a.BadAlone[1] > 0 {
		a.command("overflow %s", a.BenchArgument)
	}
}

func (a *advice) say(format string, words ...any) {
	a.lines = append(a.lines, fmt.Sprintf(format, words...))
}

// command adds a command of this program.
func (a *advice) command(format string, words ...any) {
	a.say("%s "+format, append([]any{a.style.program()}, words...)...)
}

// compare adds this comparison once more, with more flags.
func (a *advice) compare(flags string) { a.compareAs(a.Asked, flags) }

// compareAs adds a comparison of the same runs, asked otherwise, with more flags.
func (a *advice) compareAs(asked Asked, flags string) {
	a.command("compare %s %s%s%s", a.ProblemArgument, a.BenchArgument, asked.forCompare(), flags)
}

// explain shows more of the differences.
func (a *advice) explain() {
	origins := (&note{Comparison: a.Comparison}).origins()
	switch {
	case a.Asked.Map != "" || a.Mapped != nil:
		a.compare(" --limit 100 --output csv")
	case !a.Stored:
		if len(a.Merges) == 0 {
			a.explainOp(origins)
		}
		a.compare(" --limit 100 --output csv")
	case len(origins.Rows) > 0:
		a.explainOp(origins)
		a.command("report divergence --problem %s --bench %s%s --texts 0 --limit 100", a.ProblemArgument, a.BenchArgument, a.Asked.forReport())
	default:
		a.alone()
	}
}

// explainOp shows the op of the origin, where that is known.
func (a *advice) explainOp(origins Table) {
	if len(origins.Rows) == 0 {
		return
	}
	at := ""
	if a.severalPlaces() {
		at = fmt.Sprintf(" --step %s --rank %s", origins.Get(0, "step").Exact, origins.Get(0, "rank").Exact)
	}
	a.command("explain --problem %s --bench %s%s --op %s%s", a.ProblemArgument, a.BenchArgument, a.Asked.forExplain(), Argument(origins.Get(0, "op").Exact), at)
}

// severalPlaces says whether the runs may have an op of one name at several steps or ranks.
func (a *advice) severalPlaces() bool {
	return len(a.Summary.Rows) > 1 || len(a.Recorded[0].Steps) > 1 || a.Asked.narrow()
}

// alone shows the ops without partner.
func (a *advice) alone() {
	switch {
	case a.unpaired() == 0:
	case a.Stored:
		a.command("report unpaired --problem %s --bench %s%s", a.ProblemArgument, a.BenchArgument, a.Asked.forReport())
	}
}

// sameInputs says that runs which are given other data cannot but differ.
func (a *advice) sameInputs() {
	if len(a.Origins.Rows) > 0 && a.Origins.Get(0, "kind").Exact == "data" {
		a.say("give both the same inputs, in the same order: what came from outside of the model differs")
	}
}
