package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/internal/plural"
)

// Tokens is the comparison of two runs token by token. Its Places are the answer of report tokens.
type Tokens struct {
	Problem, Bench string
	Asked          string // tolerance that was asked for; empty for that by dtype
	Calibrate      string // run that measures the tolerance; empty for none
	Places         Table
	Gaps           []string // what either run lacks
}

// tokensBegin is the verdict of report tokens on the place at which tokens begin to differ.
const tokensBegin = "begins"

// TokensObject is a comparison token by token as one JSON object. Its fields stay; more may come.
type TokensObject struct {
	Verdict        Verdict  `json:"verdict"` // same, differs or unknown
	Problem        string   `json:"problem"`
	Bench          string   `json:"bench"`
	Tolerance      string   `json:"tolerance"`       // in words; empty where nothing pairs
	UnknownBecause string   `json:"unknown_because"` // why nothing can be said; empty with other verdicts
	Incomplete     []string `json:"incomplete"`      // what either run lacks
	Unseen         []string `json:"unseen"`          // sites without tokens of either run
	Places         Rows     `json:"places"`          // in the order of a forward pass
}

// Object is the comparison for programs.
func (t *Tokens) Object() TokensObject {
	object := TokensObject{Verdict: t.Verdict(), Problem: t.Problem, Bench: t.Bench, Tolerance: t.tolerated(), Incomplete: append([]string{}, t.Gaps...), Unseen: append([]string{}, t.unseen()...), Places: Rows{t.Places}}
	if object.Verdict == Unknown {
		object.UnknownBecause = t.doubt()
	}
	return object
}

// Verdict says whether any token differs. Tokens of one run only do not make the runs differ.
func (t *Tokens) Verdict() Verdict {
	switch {
	case t.began() >= 0:
		return Differs
	case t.doubt() != "":
		return Unknown
	}
	return Same
}

// began is the place at which tokens begin to differ, -1 where none does.
func (t *Tokens) began() int {
	for i := range t.Places.Rows {
		if t.text(i, "verdict") == tokensBegin {
			return i
		}
	}
	return -1
}

// doubt is why nothing can be said, where no token differs.
func (t *Tokens) doubt() string {
	switch {
	case len(t.Places.Rows) == 0:
		return "neither run has tokens: record both with --level tokens"
	case t.paired() == 0:
		return "no token of both runs has the same prompt, sample, position and place: record both with --level tokens, of the same prompts"
	case len(t.Gaps) > 0:
		return "no token differs in what is there, but not all is there"
	}
	return ""
}

func (t *Tokens) text(i int, column string) string { return t.Places.Get(i, column).Text() }

// name is a place of the model.
func (t *Tokens) name(i int) string {
	return fmt.Sprintf("layer %s, %s", t.text(i, "layer"), t.text(i, "site"))
}

// paired is the number of pairs at the place that has the most.
func (t *Tokens) paired() uint64 {
	most := uint64(0)
	for i := range t.Places.Rows {
		most = max(most, uint64(t.Places.Get(i, "paired_count").Number))
	}
	return most
}

// Write writes verdict, facts and places for people.
func (t *Tokens) Write(to io.Writer, style Style) error {
	n := &note{style: style}
	t.verdict(n)
	t.counts(n)
	if i := t.began(); i >= 0 {
		t.tellBegin(n, i)
	}
	if len(t.Places.Rows) == 0 {
		_, err := io.WriteString(to, n.text.String())
		return err
	}
	if _, err := io.WriteString(to, n.text.String()+"\n"); err != nil {
		return err
	}
	return t.Places.WriteText(to, style)
}

func (t *Tokens) verdict(n *note) {
	verdict := t.Verdict()
	n.line(n.style.verdict(verdict), "problem %s against bench %s, token by token", Printable(t.Problem), Printable(t.Bench))
	switch verdict {
	case Unknown:
		n.line("", "%s", t.doubt())
	case Same:
		n.line("", "as far as norms and sketches of tokens can tell")
	case Differs:
	}
}

func (t *Tokens) counts(n *note) {
	places := len(t.Places.Rows)
	if places == 0 {
		return
	}
	unpaired := t.unpaired()
	n.line("compared", "%s by prompt, sample and position, at up to %s", plural.Of(int(t.paired()), "token"), plural.Of(places-len(unpaired), "place")) //nolint:gosec // a count of rows
	if len(unpaired) > 0 {
		n.line("", "nothing pairs at %s", strings.Join(unpaired, "; "))
	}
	if unseen := t.unseen(); len(unseen) > 0 {
		n.line("not seen", "%s: neither run has tokens there, and a fault there does not show", strings.Join(unseen, ", "))
	}
	if alone := t.Places.Sum("alone_count"); alone > 0 {
		n.line("", "only one run has %s", plural.Of(int(alone), "row")) //nolint:gosec // a count of rows
	}
	if tolerated := t.tolerated(); tolerated != "" {
		n.line("tolerance", "%s", tolerated)
	}
}

// unpaired names the places at which no tokens pair.
func (t *Tokens) unpaired() (places []string) {
	for i := range t.Places.Rows {
		if t.Places.Get(i, "paired_count").Number == 0 {
			places = append(places, t.name(i))
		}
	}
	return places
}

// unseen names the sites that every model has, and neither run shows.
func (t *Tokens) unseen() (sites []string) {
	for _, site := range []string{"embedding", "attention", "residual stream", "logits"} {
		if !slices.ContainsFunc(t.Places.Rows, func(row []Value) bool { return row[slices.Index(t.Places.Columns, "site")].Exact == site }) {
			sites = append(sites, site)
		}
	}
	return sites
}

func (t *Tokens) tellBegin(n *note, i int) {
	n.line("began", "%s", t.place(i))
	n.line("error", "%s", t.errors(i))
	if grows := t.grows(i); grows != "" {
		n.line("grows", "%s", grows)
	}
}

// place names a place, and the first token that begins to differ there.
func (t *Tokens) place(i int) string {
	where := t.name(i)
	if t.Places.Get(i, "first_position").Null {
		return where + ": no token alone, but all of them on average"
	}
	return fmt.Sprintf("%s: %s of %s, first at position %s of prompt %s", where, t.text(i, "began_count"),
		plural.Of(int(t.Places.Get(i, "paired_count").Number), "token"), t.text(i, "first_position"), t.text(i, "first_prompt"))
}

func (t *Tokens) errors(i int) string {
	said := fmt.Sprintf("mean %s, greatest %s; tolerated %s", t.text(i, "mean_error"), t.text(i, "max_error"), t.text(i, "tolerance"))
	if n := t.Places.Get(i, "calibrated_count").Number; n > 0 {
		said += fmt.Sprintf(", mean %s, by %s of the calibration", t.text(i, "mean_tolerance"), plural.Of(int(n), "token"))
	}
	return said
}

// strongGrowth is the correlation from which a growth is said.
const strongGrowth = 0.8

// grows names what the error at a place, or at one behind it, goes with.
func (t *Tokens) grows(from int) string {
	var with []string
	for _, of := range []struct{ column, name string }{
		{"position_growth", "the position"}, {"batch_growth", "the tokens of a batch"}, {"rank_growth", "the rank"},
	} {
		most := math.Inf(-1)
		for i := from; i < len(t.Places.Rows); i++ {
			if n := t.Places.Get(i, of.column).Number; n > most { // which NaN never is
				most = n
			}
		}
		if most >= strongGrowth {
			with = append(with, fmt.Sprintf("with %s (correlation %.2f)", of.name, most))
		}
	}
	return strings.Join(with, ", ")
}
