package symptoms

import (
	"fmt"
	"strings"

	"github.com/tensortap/tensortap/analysis/report"
)

// linesShown is how many lines each symptom has at most, beside its first.
const linesShown = 6

// crash tells which rank died first, or that the user ended the program. A program that ends well may have raised and gone on, and have ended its own children.
func crash(run Run, answer report.Table) []string {
	c := report.Crash{Run: run.Name, Ranks: answer, StoppedNs: run.StoppedNs}
	if (run.Failed || run.StoppedNs != 0) && c.Stopped() {
		return []string{"stopped: " + c.Headline()}
	}
	if !c.Any() || !run.Failed && !c.Died() && !c.Fatal() {
		return nil
	}
	lines := []string{"crash: " + c.Headline()}
	more := append(c.Details(), c.Others()...)
	for _, line := range more[:min(linesShown, len(more))] {
		lines = append(lines, "  "+line)
	}
	return lines
}

// overflow tells where NaN or infinity first arose, unless it is known to be no fault.
func overflow(run Run, answer report.Table) []string {
	first := -1
	for i := range answer.Rows {
		switch answer.Get(i, "verdict").Exact {
		case "origin", "gradient", "parameter":
			return []string{"overflow: " + notFinite(run, answer, i)}
		case "known exception", "argument":
		default:
			if first < 0 {
				first = i
			}
		}
	}
	if first < 0 {
		return nil
	}
	return []string{"overflow: " + notFinite(run, answer, first)}
}

func notFinite(run Run, answer report.Table, i int) string {
	get := func(column string) string { return answer.Get(i, column).Text() }
	parts := []string{
		fmt.Sprintf("run %s: NaN or infinity in step %s, rank %s, op %s%s", report.Printable(run.Name), get("step"), get("rank"), get("op"), ofModule(get("module"))),
		get("role") + " " + get("path"),
	}
	for _, count := range []struct{ column, what string }{
		{"nan_count", "NaN"}, {"positive_infinity_count", "+Inf"}, {"negative_infinity_count", "-Inf"},
	} {
		if answer.Get(i, count.column).Number > 0 {
			parts = append(parts, get(count.column)+" "+count.what)
		}
	}
	return strings.Join(parts, ", ")
}

func ofModule(path string) string {
	if path == "" || path == "-" {
		return ""
	}
	return " of module " + path
}

// replicas tells which ranks have another copy of what must be the same.
func replicas(run Run, answer report.Table) []string {
	if len(answer.Rows) == 0 {
		return nil
	}
	get := func(column string) string { return answer.Get(0, column).Text() }
	return []string{fmt.Sprintf("replicas: run %s: from step %s on, ranks %s differ from others of ranks %s in %s%s, %s %s: relative error %s by %s",
		report.Printable(run.Name), get("step"), get("odd_ranks"), get("ranks"), get("op"), ofModule(get("module")), get("role"), get("path"), get("error"), get("evidence"))}
}

// requestsShown is how many requests of each kind are named.
const requestsShown = 5

// poisoned tells which requests were in the first steps that were not finite.
func poisoned(run Run, answer report.Table) []string {
	if len(answer.Rows) == 0 {
		return nil
	}
	get := func(column string) string { return answer.Get(0, column).Text() }
	lines := []string{fmt.Sprintf("poisoned-requests: run %s: request %s (%s, %s) was in the first step that was not finite, step %s of rank %s, op %s%s",
		report.Printable(run.Name), get("request"), get("how"), get("phase"), get("first_step"), get("rank"), get("op"), ofModule(get("module")))}
	var others []string
	for i := range answer.Rows[1:] {
		others = append(others, fmt.Sprintf("%s (%s)", answer.Get(i+1, "request").Text(), answer.Get(i+1, "how").Text()))
	}
	if len(others) == 0 {
		return lines
	}
	line := "  and " + strings.Join(others[:min(requestsShown, len(others))], ", ")
	if more := len(others) - requestsShown; more > 0 {
		line += fmt.Sprintf(", and %d more", more)
	}
	return append(lines, line)
}
