package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/tensortap/tensortap/internal/plural"
)

// Overflow has the facts about NaN and infinity in one run.
type Overflow struct {
	Run          string
	Argument     string // what to write for the run in the next command
	Asked        Asked  // what else to write there: rank and steps
	Recorded     Recorded
	Origins      Table // where it began, by place, then rank
	Summary      Table // counts of each rank, as overflow_summary
	Completeness Table
	Warnings     []string // what of the dumps could not be read, the first ones
	WarningCount int
	Stored       bool // the run stays stored, so that reports can be asked for
}

// Finiteness is the answer about one run.
type Finiteness string

// The answers: with Unsure nothing was found in the stored rows, but too many are missing to
// decide.
const (
	Finite    Finiteness = "finite"
	NotFinite Finiteness = "not_finite"
	Unsure    Finiteness = "unknown"
)

// Judge reads the answer off the reports.
func (o *Overflow) Judge() Finiteness {
	switch {
	case len(o.Origins.Rows) > 0:
		return NotFinite
	case o.unsure() != "":
		return Unsure
	}
	return Finite
}

// unsure is the reason of Unsure.
func (o *Overflow) unsure() string {
	switch {
	case len(o.Summary.Rows) == 0:
		return "there are no tensors or other arguments of these ranks and steps"
	case o.Summary.Sum("measured_count") == 0:
		return "nothing was measured that NaN or infinity would show in"
	case len(o.Completeness.Gaps()) > 0:
		return "all that is there is finite, but not all is there"
	}
	return ""
}

// WriteNote writes the answer on one screen. On a terminal it is coloured.
func (o *Overflow) WriteNote(to io.Writer, style Style) error {
	n := &note{style: style}
	if gaps := o.Completeness.Gaps(); len(gaps) > 0 {
		n.line("INCOMPLETE", "%s", few(gaps))
	}
	o.answer(n)
	n.line("looked at", "%s tensors and other arguments, %s of them measured, %s", thousands(o.Summary.Sum("row_count")),
		thousands(o.Summary.Sum("measured_count")), plural.Of(len(o.Summary.Rows), "rank"))
	if observed := o.Recorded.Observed(); observed != "" {
		n.line("observed", "%s", observed)
	}
	if excused := o.Summary.Sum("exception_count"); excused > 0 {
		n.line("left out", "%s of known exceptions, such as masks and memory that nobody wrote", thousands(excused))
	}
	o.began(n)
	o.next(n)
	_, err := io.WriteString(to, n.text.String())
	return err
}

func (o *Overflow) answer(n *note) {
	words := map[Finiteness]string{Finite: "CLEAN", NotFinite: "NOT FINITE", Unsure: "UNKNOWN"}
	colors := map[Finiteness]string{Finite: "\x1b[32m", NotFinite: "\x1b[31m", Unsure: "\x1b[33m"}
	answer := o.Judge()
	word := fmt.Sprintf("%-12s", words[answer])
	if n.style.Color {
		word = colors[answer] + word + "\x1b[0m"
	}
	switch answer {
	case Finite:
		n.line(word, "run %s: no NaN and no infinity in what was measured", Printable(o.Run))
	case NotFinite:
		n.line(word, "run %s: %s tensors and other arguments hold NaN or infinity", Printable(o.Run), thousands(o.Summary.Sum("not_finite_count")))
	case Unsure:
		n.line(word, "run %s: %s", Printable(o.Run), o.unsure())
	}
}

// began names the origins; several are concurrent.
func (o *Overflow) began(n *note) {
	const most = 4
	rows := len(o.Origins.Rows)
	for i := range min(most, rows) {
		get := func(column string) string { return o.Origins.Get(i, column).Text() }
		n.line(beginning(i), "step %s, rank %s, op %s", get("step"), get("rank"), get("op"))
		if get("module") != "" {
			n.line("", "in module %s", get("module"))
		}
		n.line("", "%s %s (%s): %s", get("role"), get("path"), get("kind"), o.values(i))
		if frame := o.Origins.Get(i, "user_frame"); !frame.Null && frame.Exact != "" {
			n.line("", "first called at %s", Printable(strings.Join(strings.Fields(frame.Exact), " ")))
		}
	}
	if rows > most {
		n.line("", "and on %s more: nothing recorded tells which was first", plural.Of(rows-most, "rank"))
	} else if rows > 1 {
		n.line("", "nothing recorded tells which of these was first")
	}
}

func beginning(i int) string {
	if i == 0 {
		return "began at"
	}
	return "and at"
}

// values describes the tensor, or other argument, of an origin.
func (o *Overflow) values(i int) string {
	get := func(column string) string { return o.Origins.Get(i, column).Text() }
	if get("dtype") == "" {
		return get("literal")
	}
	return fmt.Sprintf("%s %s  %smin %s  max %s  mean %s  l2 %s", get("dtype"), get("shape"), o.notFinite(i), get("value_min"), get("value_max"), get("value_mean"), get("value_l2"))
}

// notFinite says how many elements of which kind a tensor holds that are not finite, where they were counted.
func (o *Overflow) notFinite(i int) string {
	var kinds []string
	for _, kind := range []struct{ column, words string }{
		{"nan_count", "NaN"}, {"positive_infinity_count", "+Inf"}, {"negative_infinity_count", "-Inf"},
	} {
		if n := o.Origins.Get(i, kind.column).Number; n > 0 {
			kinds = append(kinds, thousands(uint64(n))+" "+kind.words)
		}
	}
	if len(kinds) == 0 {
		return ""
	}
	return strings.Join(kinds, ", ") + "  "
}

func (o *Overflow) next(n *note) {
	if len(o.Origins.Rows) == 0 {
		return
	}
	asked := o.Asked
	asked.Steps = cmp.Or(asked.Steps, o.Origins.Get(0, "step").Exact+"-")
	if o.Stored && !strings.Contains(asked.Steps, ",") && !strings.Contains(asked.Steps, "/") { // a report takes a range
		n.command("next", "report overflow --run %s%s --limit 100", o.Argument, asked.forOverflow())
		return
	}
	n.command("next", "overflow %s%s --output csv", o.Argument, asked.forOverflow())
}

// few joins as many as a line has room for.
func few(texts []string) string {
	const shown = 3
	if len(texts) > shown {
		texts = append(texts[:shown:shown], fmt.Sprintf("and %d more", len(texts)-shown))
	}
	return strings.Join(texts, "; ")
}

// OverflowObject is the answer as one JSON object. Its fields stay; more may come.
type OverflowObject struct {
	Verdict        Finiteness       `json:"verdict"`
	Run            string           `json:"run"`
	UnknownBecause string           `json:"unknown_because"` // why nothing can be said; empty with other verdicts
	Counts         map[string]int64 `json:"counts"`
	Incomplete     string           `json:"incomplete"` // empty when nothing is missing
	Observed       string           `json:"observed"`   // what the run's level sees and does not see; empty where it is not known
	Origins        Rows             `json:"origins"`
	Ranks          Rows             `json:"ranks"`
	Completeness   Rows             `json:"completeness"`
}

// Object is the answer for programs.
func (o *Overflow) Object() OverflowObject {
	counts := map[string]int64{}
	for _, name := range []string{"row", "measured", "not_finite", "exception"} {
		counts[name] = int64(o.Summary.Sum(name + "_count")) //nolint:gosec // counts of rows
	}
	object := OverflowObject{
		Verdict: o.Judge(), Run: o.Run, Counts: counts, Incomplete: few(o.Completeness.Gaps()), Observed: o.Recorded.Observed(),
		Origins: Rows{o.Origins}, Ranks: Rows{o.Summary}, Completeness: Rows{o.Completeness},
	}
	if object.Verdict == Unsure {
		object.UnknownBecause = o.unsure()
	}
	return object
}
