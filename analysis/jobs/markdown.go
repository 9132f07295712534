package jobs

import (
	"fmt"
	"io"
	"strings"
)

// Markdown writes a table for the comment of a pull request.
func Markdown(to io.Writer, results []Result) error {
	var page strings.Builder
	fmt.Fprintf(&page, "**%s**\n", Summary(results))
	if len(results) > 0 {
		page.WriteString("\n| verdict | name | where it began, or why there is no answer | error | tolerance | time |\n|---|---|---|---:|---:|---:|\n")
	}
	for i := range results {
		row(&page, &results[i])
	}
	_, err := io.WriteString(to, page.String())
	return err
}

func row(page *strings.Builder, r *Result) {
	where, size, tolerance := escaped(r.Headline()), "", ""
	if r.Err == nil && r.Verdict == Differs && len(r.Origins) > 0 {
		o := &r.Origins[0]
		where = fmt.Sprintf("rank %d, step %d, %s%s", o.Rank, o.Step, code(o.where()), escaped(kindOf(o)+others(len(r.Origins)-1)))
		size, tolerance = number(o.Error), number(o.Tolerance)
	}
	fmt.Fprintf(page, "| %s | %s | %s | %s | %s | %.2f s |\n", marked(r.Verdict), escaped(r.Name), where, size, tolerance, r.Elapsed.Seconds())
}

func kindOf(o *Origin) string {
	if o.Kind == "" {
		return ""
	}
	return ": " + o.Kind
}

// marked has what needs a look stand out.
func marked(v Verdict) string {
	if v == Same || v == Skipped {
		return string(v)
	}
	return "**" + string(v) + "**"
}

// code is a span of code within a cell. No mark-up works in there but a backtick and the cell's own bar.
func code(text string) string {
	text = strings.ReplaceAll(printable(text), "|", `\|`)
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

// escaped is text in which no mark-up works, nor a mention of a user or a link.
func escaped(text string) string {
	var b strings.Builder
	for _, r := range printable(text) {
		switch {
		case r == '<':
			b.WriteString("&lt;")
		case r == '>':
			b.WriteString("&gt;")
		case r == '&':
			b.WriteString("&amp;")
		case r == '@':
			b.WriteString("@\u2060")
		case strings.ContainsRune("\\`*_{}[]()#+!|~$", r):
			b.WriteByte('\\')
			b.WriteRune(r)
		default:
			b.WriteRune(r)
		}
	}
	return strings.ReplaceAll(b.String(), "://", ":\u2060//")
}
