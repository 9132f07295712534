package report

import (
	"fmt"
	"strings"

	"github.com/tensortap/tensortap/internal/plural"
)

// origins are the rows that say where it began: suspects, or else the first difference.
func (n *note) origins() Table {
	if len(n.Origins.Rows) > 0 || len(n.Divergence.Rows) == 0 {
		return n.Origins
	}
	return Table{Columns: n.Divergence.Columns, Rows: n.Divergence.Rows[:1], numeric: n.Divergence.numeric}
}

// began says where the difference began; of several suspects, all by name.
func (n *note) began() {
	origins := n.origins()
	const most = 4
	for i := range origins.Rows[:min(most, len(origins.Rows))] {
		label := "began at"
		if i > 0 {
			label = "or at"
		}
		n.unseen(origins, i)
		n.origin(label, origins, i)
	}
	if more := len(origins.Rows) - most; more > 0 {
		n.line("", "and %s that nothing precedes", plural.Of(more, "other place"))
	}
}

func (n *note) origin(label string, t Table, i int) {
	get := func(column string) string { return t.Get(i, column).Text() }
	n.line(label, "step %s, rank %s%s, op %s%s", get("step"), get("rank"), microStep(t, i), get("op"), orBefore(t, i))
	if get("module") != "" && get("module") != "-" {
		n.line("", "in module %s", get("module"))
	}
	n.part(i)
	row, found := n.divergent(t, i)
	switch {
	case found:
		n.line("", "%s%s %s: %s", kindOf(t, i), get("role"), get("path"), what(n.Divergence, row))
	case get("problem_literal") != "":
		n.line("", "%s%s %s: %s", kindOf(t, i), get("role"), get("path"), get("problem_literal"))
	default:
		n.line("", "%s%s %s: %s", kindOf(t, i), get("role"), get("path"), what(t, i))
	}
	if i == 0 && found {
		n.side("problem", row)
		n.side("bench", row)
	}
	if frame := t.Get(i, "user_frame"); !frame.Null && frame.Exact != "" {
		n.line("", "first called at %s", Printable(strings.Join(strings.Fields(frame.Exact), " ")))
	}
}

// microStep gives the micro step of an origin, if its step has several.
func microStep(t Table, i int) string {
	at, all := t.Get(i, "micro_step").Number, t.Get(i, "micro_step_count").Number
	if !(all > 1) {
		return ""
	}
	return fmt.Sprintf(", micro step %.0f of %.0f", at+1, all)
}

// kindOf says what sort of place an origin is.
func kindOf(t Table, i int) string {
	kind := t.Get(i, "kind").Exact
	more := map[string]string{"parameter": "parameter", "operation": "operation"}[kind]
	switch {
	case kind == "" || kind == t.Get(i, "role").Exact: // what follows says so
		return ""
	case kind == "unseen_input":
		return "input of unseen origin, "
	case more != "" && t.Get(i, more).Exact != "":
		return kind + " " + t.Get(i, more).Text() + ", "
	}
	return kind + ", "
}

// divergent is the row of the divergence report that is row i of t, if it is among those that were asked for.
func (n *note) divergent(t Table, i int) (row int, found bool) {
	for d := range n.Divergence.Rows {
		same := true
		for _, column := range []string{"rank", "step", "op", "role", "path"} {
			same = same && n.Divergence.Get(d, column).Exact == t.Get(i, column).Exact
		}
		if same {
			return d, true
		}
	}
	return 0, false
}

// side describes a tensor, or other argument, of one run.
func (n *note) side(run string, i int) {
	get := func(column string) string { return n.Divergence.Get(i, run+"_"+column).Text() }
	if get("dtype") == "" {
		n.line("", "%-8s %s", run, get("literal"))
		return
	}
	n.line("", "%-8s %s %s  min %s  max %s  mean %s  l2 %s", run, get("dtype"), get("shape"), get("min"), get("max"), get("mean"), get("l2"))
}

// what says how a row differs.
func what(t Table, i int) string {
	get := func(column string) string {
		if v := t.Get(i, column); !v.Null {
			return v.Text()
		}
		return ""
	}
	var parts []string
	if get("verdict") == "structure" {
		parts = append(parts, "another "+orWord(get("structure"), "layout"))
	}
	switch {
	case get("problem_literal") != "" || get("bench_literal") != "": // shown as they are
	case get("numeric") == "not_finite" || get("verdict") == "not_finite":
		parts = append(parts, "NaN or infinity in "+orWord(get("not_finite_side"), get("side")))
	case get("reason") != "":
		parts = append(parts, get("reason"))
	case get("error") != "":
		parts = append(parts, "relative error "+atLeast(get("evidence"))+get("error")+tolerated(get("tolerance")))
	}
	if get("evidence") == "none" || len(parts) == 0 {
		return strings.Join(parts, ", ")
	}
	return strings.Join(parts, ", ") + " (by " + get("evidence") + ")"
}

func orWord(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// atLeast marks lower bounds.
func atLeast(evidence string) string {
	if evidence == "statistics" {
		return "at least "
	}
	return ""
}

func tolerated(tolerance string) string {
	if tolerance == "" {
		return ""
	}
	return ", tolerated " + tolerance
}

// others lists the rows after the first, a line each.
func (n *note) others() {
	const most = 3 // of one screen
	first, shown := -1, 0
	if origins := n.origins(); len(origins.Rows) > 0 {
		if row, found := n.divergent(origins, 0); found {
			first = row
			shown = 1
		}
	}
	label := "then"
	for i := range n.Divergence.Rows {
		if i == first || label == "" && shown > most {
			continue
		}
		get := func(column string) string { return n.Divergence.Get(i, column).Text() }
		n.line(label, "step %s rank %s  %s  %s %s: %s", get("step"), get("rank"), get("op"), get("role"), get("path"), what(n.Divergence, i))
		label = ""
		shown++
	}
	if all := n.Summary.Sum("differing_count"); all > uint64(shown) { //nolint:gosec // a few
		n.line("", "and %s more", thousands(all-uint64(shown))) //nolint:gosec // a few
	}
}
