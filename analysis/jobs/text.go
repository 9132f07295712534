package jobs

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode"
)

// Text writes a line for each pair, then the summary.
func Text(to io.Writer, results []Result) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for i := range results {
		r := &results[i]
		if _, err := fmt.Fprintf(table, "%s\t%s\t%.2f s\t%s\n", r.Verdict, printable(r.Name), r.Elapsed.Seconds(), r.Headline()); err != nil {
			return err
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(to, "\n%s\n", Summary(results))
	return err
}

// Headline is the result in one line: where the difference began, or why there is no answer.
func (r *Result) Headline() string {
	switch {
	case r.Err != nil:
		return printable(r.Err.Error())
	case r.Verdict == Unknown:
		return printable(r.Because)
	case r.Verdict == Skipped:
		return "judged before"
	case len(r.Origins) > 0:
		return printable(r.Origins[0].line()) + others(len(r.Origins)-1)
	case r.Counts != Counts{}:
		return r.Counts.line()
	}
	return ""
}

func others(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

func (o *Origin) line() string {
	line := fmt.Sprintf("rank %d step %d %s", o.Rank, o.Step, o.where())
	if o.Kind != "" {
		line += ": " + o.Kind
	}
	if o.Verdict != "" {
		line += ", " + o.Verdict
	}
	if !math.IsNaN(o.Error) && o.Error != 0 {
		line += fmt.Sprintf(", error %s, tolerance %s", number(o.Error), number(o.Tolerance))
	}
	return line
}

// where is the op, and which of its tensors.
func (o *Origin) where() string {
	return strings.TrimSpace(o.Op + " " + strings.TrimSuffix(o.Role+" "+o.Path, " "))
}

func (c Counts) line() string {
	parts := []string{fmt.Sprintf("%d paired", c.Paired)}
	for _, part := range []struct {
		count uint64
		name  string
	}{{c.Differing, "differ"}, {c.OnlyProblem, "only in the problem"}, {c.OnlyBench, "only in the bench"}, {c.Unknown, "unknown"}} {
		if part.count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.count, part.name))
		}
	}
	return strings.Join(parts, ", ")
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// printable is the text on one line, without characters that a terminal obeys or that cannot be seen.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
