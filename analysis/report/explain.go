package report

import (
	"fmt"
	"io"
	"math"
	"strings"
)

// Explanation has the facts about one op of two runs.
type Explanation struct {
	Problem, Bench  string
	Op              string
	Rank, Step      int64
	Rows            Table    // what the op took and gave
	Place           Table    // where it stands in the program
	Context         Table    // the ops before it, the nearest first
	Steps           Table    // the other steps and ranks that have it
	Msprobe         Table    // msProbe's own result; no columns where nobody asked for it
	Parts           Table    // what the ranks of the problem that were merged held
	Others          []string // further ops that the name may mean
	OtherCount      int      // how many those are, also those not in Others
	Gaps            []string // what is missing of both runs
	ProblemArgument string   // what to write for the names in the next command
	BenchArgument   string
	Asked           Asked // what else to write there
	WholeStack      bool
	Stored          bool     // the runs stay stored, so that reports can be asked for
	Warnings        []string // what of the dumps could not be read, the first ones
	WarningCount    int
}

// explanation collects the lines of the text.
type explanation struct {
	*Explanation
	text  strings.Builder
	style Style
}

// Most of each part of a screen.
const (
	placesShown = 10
	framesShown = 60
	gapsShown   = 3
	partsShown  = 16
)

// WriteNote writes all that is known of the op on one screen.
func (e *Explanation) WriteNote(to io.Writer, style Style) error {
	x := &explanation{Explanation: e, style: style}
	x.incomplete()
	x.what()
	x.stack()
	x.judgement()
	x.places()
	x.parts()
	x.before()
	x.elsewhere()
	x.next()
	_, err := io.WriteString(to, x.text.String())
	return err
}

// line writes a label and, beside it, its text.
func (x *explanation) line(label, format string, values ...any) {
	fmt.Fprintf(&x.text, "%-12s ", label)
	fmt.Fprintf(&x.text, format, values...)
	x.text.WriteByte('\n')
}

func (x *explanation) incomplete() {
	if len(x.Gaps) == 0 {
		return
	}
	shown := x.Gaps[:min(len(x.Gaps), gapsShown)]
	text := Printable(strings.Join(shown, "; "))
	if more := len(x.Gaps) - len(shown); more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	x.line("INCOMPLETE", "%s", text)
}

// what names the op and how it got its partner.
func (x *explanation) what() {
	get := func(column string) string { return x.Rows.Get(0, column).Text() }
	x.line("op", "%s, rank %d, step %d, problem %s against bench %s", Printable(x.Op), x.Rank, x.Step, Printable(x.Problem), Printable(x.Bench))
	if module := x.place("module"); module.Exact != "" {
		x.line("module", "%s%s", module.Text(), x.parent(module.Exact))
	}
	x.line("paired", "%s", pairing(get("paired_by"), get("bench_op"), get("bench_rank"), get("rank")))
	if len(x.Others) > 0 {
		x.line("not meant", "%s", Printable(strings.Join(x.Others, ", "))+more(x.OtherCount-len(x.Others)))
	}
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

func (x *explanation) parent(module string) string {
	parent := x.place("parent")
	if parent.Exact == "" || parent.Exact == module {
		return ""
	}
	return ", called by " + parent.Text()
}

// place is a value of the op's place in its program; null where no step that has it has ended.
func (x *explanation) place(column string) Value {
	if len(x.Place.Rows) == 0 {
		return Value{Null: true, Number: math.NaN()}
	}
	return x.Place.Get(0, column)
}

// pairing says in words how an op got its partner.
func pairing(by, partner, benchRank, rank string) string {
	text := map[string]string{
		"only_problem": "the bench has no such op", "only_bench": "the problem has no such op",
		"id":       "with the op of the same name",
		"module":   "with " + partner + ", its counterpart in the same module",
		"renamed":  "with " + partner + ", which another class or API took the place of",
		"sequence": "with " + partner + ", by its place in the order of ops",
	}[by]
	if text == "" {
		text = "with " + partner + " (" + by + ")"
	}
	if benchRank != rank {
		text += ", on rank " + benchRank + " of the bench"
	}
	return text
}

// stack shows the frame of the user's own code, or all frames, that one first.
func (x *explanation) stack() {
	frame := x.place("user_frame")
	if frame.Null || frame.Exact == "" {
		return
	}
	x.line("first called", "at %s", oneLine(frame.Exact))
	if !x.WholeStack {
		return
	}
	frames := x.place("frames").list()
	for i, f := range frames {
		if i == framesShown {
			x.line("", "  and %d more frames", len(frames)-i)
			break
		}
		x.line("", "  %s", oneLine(f))
	}
}

func oneLine(text string) string { return Printable(strings.Join(strings.Fields(text), " ")) }

// judgement says in one line how the op was judged.
func (x *explanation) judgement() {
	if side := x.onlySide(); side != "" {
		x.line("judged", "only the %s has it: there is nothing to hold it against", side)
		return
	}
	differs, in, out := 0, math.NaN(), math.NaN()
	for i := range x.Rows.Rows {
		if x.Rows.Get(i, "differs").True() {
			differs++
		}
		if x.Rows.Get(i, "problem_element_count").Number == 0 && x.Rows.Get(i, "bench_element_count").Number == 0 {
			continue // its error cannot be held against those of tensors
		}
		e := x.Rows.Get(i, "error").Number
		if role := x.Rows.Get(i, "role").Exact; role == "output" || role == "parameter_gradient" {
			out = larger(out, e)
		} else {
			in = larger(in, e)
		}
	}
	word := "nothing that it took or gave differs"
	if differs > 0 {
		word = fmt.Sprintf("%d of %d differ", differs, len(x.Rows.Rows))
	}
	x.line("judged", "%s; greatest error in %s, out %s%s", word, shortNumber(in), shortNumber(out), growth(in, out))
}

// onlySide is the run that alone has the op; empty where both have it.
func (x *explanation) onlySide() string {
	side, _ := strings.CutPrefix(x.Rows.Get(0, "paired_by").Exact, "only_")
	if side == x.Rows.Get(0, "paired_by").Exact {
		return ""
	}
	return side
}

func growth(in, out float64) string {
	switch {
	case math.IsNaN(in) || math.IsNaN(out) || in == 0 && out == 0 || math.IsInf(in, 0) || math.IsInf(out, 0):
		return ""
	case in == 0:
		return ": it arises here"
	}
	return fmt.Sprintf(": × %.3g", out/in)
}

func larger(a, b float64) float64 {
	if math.IsNaN(a) || b > a {
		return b
	}
	return a
}

func shortNumber(v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf("%.3g", v)
}

// before lists the ops that ran before, and their outputs that are inputs of this one.
func (x *explanation) before() {
	label := "before it"
	given := map[string]bool{} // what a nearer op gave, others only passed on
	for i := range x.Context.Rows {
		get := func(column string) Value { return x.Context.Get(i, column) }
		if get("op").Exact == x.Op {
			continue
		}
		text := fmt.Sprintf("%s  in %s  out %s", get("op").Text(), shortNumber(get("error_in").Number), shortNumber(get("error_out").Number))
		if get("differing_count").Number > 0 {
			text += "  " + get("verdict").Text()
		}
		if gives := fresh(get("gives").list(), given); len(gives) > 0 {
			text += "  gave " + Printable(strings.Join(gives, ", "))
		}
		x.line(label, "%s", text)
		label = ""
	}
}

// fresh is what is not given yet, and is so from now on.
func fresh(gives []string, given map[string]bool) []string {
	var left []string
	for _, place := range gives {
		if !given[place] {
			left = append(left, place)
		}
		given[place] = true
	}
	return left
}

// elsewhere describes in one line the same op at other steps and ranks.
func (x *explanation) elsewhere() {
	places, differing, greatest := 0, 0, math.NaN()
	var first string
	for i := range x.Steps.Rows {
		get := func(column string) float64 { return x.Steps.Get(i, column).Number }
		if int64(get("rank")) == x.Rank && int64(get("step")) == x.Step {
			continue
		}
		places++
		greatest = larger(greatest, get("greatest_error"))
		if get("differing_count") > 0 {
			differing++
			if first == "" {
				first = fmt.Sprintf(", first on rank %.0f at step %.0f", get("rank"), get("step"))
			}
		}
	}
	if places == 0 {
		x.line("elsewhere", "the op is at no other step or rank that both runs have")
		return
	}
	x.line("elsewhere", "differs at %d of %d other steps and ranks%s; greatest error %s", differing, places, first, shortNumber(greatest))
}

func (x *explanation) next() {
	asked := x.Asked
	asked.Rank, asked.Steps = fmt.Sprint(x.Rank), fmt.Sprint(x.Step)
	if x.Stored {
		x.line("next", "%s report divergence --problem %s --bench %s%s", x.style.program(), x.ProblemArgument, x.BenchArgument, asked.forReport())
		return
	}
	x.line("next", "%s compare %s %s%s --output csv", x.style.program(), x.ProblemArgument, x.BenchArgument, asked.forCompare())
}

// ExplanationObject is an explanation for programs. Its fields stay; more may come.
type ExplanationObject struct {
	Problem    string   `json:"problem"`
	Bench      string   `json:"bench"`
	Op         string   `json:"op"`
	Rank       int64    `json:"rank"`
	Step       int64    `json:"step"`
	Incomplete []string `json:"incomplete"` // empty when nothing is missing
	Tensors    Rows     `json:"tensors"`
	Place      Rows     `json:"place"`
	Before     Rows     `json:"before"`
	Elsewhere  Rows     `json:"elsewhere"`
	Msprobe    Rows     `json:"msprobe"` // msProbe's own result, where it is known
	Parts      Rows     `json:"parts"`   // what ranks of the problem that were merged held
	Others     []string `json:"others"`  // further ops that the name may mean, the first ones
}

// Object is the explanation for programs.
func (e *Explanation) Object() ExplanationObject {
	return ExplanationObject{
		Problem: e.Problem, Bench: e.Bench, Op: e.Op, Rank: e.Rank, Step: e.Step,
		Incomplete: append([]string{}, e.Gaps...), Tensors: Rows{e.Rows}, Place: Rows{e.Place}, Before: Rows{e.Context}, Elsewhere: Rows{e.Steps},
		Msprobe: Rows{e.Msprobe}, Parts: Rows{e.Parts}, Others: append([]string{}, e.Others...),
	}
}
