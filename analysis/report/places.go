package report

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// places shows inputs and outputs of the op: both sides below each other, in columns.
func (x *explanation) places() {
	cells := [][]string{{"", "", "", "min", "max", "mean", "l2", "elements", ""}}
	order := x.order()
	for _, i := range order[:min(len(order), placesShown)] {
		cells = append(cells, x.tensor(i)...)
	}
	widths := make([]int, len(cells[0]))
	for _, line := range cells {
		for c, text := range line[:len(line)-1] {
			widths[c] = max(widths[c], utf8.RuneCountInString(text))
		}
	}
	for _, line := range cells {
		x.text.WriteString(strings.TrimRight(columns(line, widths), " ") + "\n")
	}
	if rest := len(order) - placesShown; rest > 0 {
		x.line("", "and %d more: --output json shows all", rest)
	}
}

// order is the rows as they are shown: as they are where all fit, else those that differ first.
func (x *explanation) order() []int {
	order := make([]int, len(x.Rows.Rows))
	for i := range order {
		order[i] = i
	}
	if len(order) > placesShown {
		slices.SortStableFunc(order, func(a, b int) int { return x.agreement(a) - x.agreement(b) })
	}
	return order
}

func (x *explanation) agreement(row int) int {
	if x.Rows.Get(row, "differs").True() {
		return 0
	}
	return 1
}

// columns pads all but the last cell; the first is a label of a line, as others have.
func columns(line []string, widths []int) string {
	var b strings.Builder
	for c, text := range line {
		pad := ""
		if c < len(line)-1 {
			pad = strings.Repeat(" ", widths[c]-utf8.RuneCountInString(text))
		}
		if c > 2 && c < len(line)-1 { // numbers
			b.WriteString(pad + text + "  ")
		} else {
			b.WriteString(text + pad + "  ")
		}
	}
	return b.String()
}

// tensor is the lines of one tensor, or other argument: a line a side, and the judgement behind the first.
func (x *explanation) tensor(row int) [][]string {
	get := func(column string) Value { return x.Rows.Get(row, column) }
	name := get("role").Text() + " " + get("path").Text()
	if micro := get("micro_step"); micro.Number > 0 {
		name += fmt.Sprintf(" (micro step %.0f)", micro.Number+1)
	}
	judged := x.judged(row)
	var lines [][]string
	for _, side := range []string{"problem", "bench"} {
		if !get(side + "_present").True() {
			continue
		}
		lines = append(lines, x.side(row, side, name, judged))
		name, judged = "", ""
	}
	if note := x.msprobe(row); note != "" {
		lines = append(lines, []string{"", "msProbe", note, "", "", "", "", "", ""})
	}
	return lines
}

func (x *explanation) side(row int, side, name, judged string) []string {
	get := func(column string) string { return x.Rows.Get(row, side+"_"+column).Text() }
	if get("dtype") == "" {
		literal := get("literal")
		if literal == "" {
			literal = get("kind")
		}
		return []string{name, side, literal, "", "", "", "", "", judged}
	}
	what := strings.TrimPrefix(get("dtype"), "torch.") + " " + get("shape")
	if get("not_finite_count") != "0" {
		what += " " + get("not_finite_count") + " not finite"
	}
	return []string{name, side, what, get("min"), get("max"), get("mean"), get("l2"), get("element_count"), judged}
}

// judged is the verdict with its evidence, as: diverged by statistics, error 0.25, tolerance 1e-6.
func (x *explanation) judged(row int) string {
	get := func(column string) Value { return x.Rows.Get(row, column) }
	text := strings.ReplaceAll(get("verdict").Text(), "_", " ")
	if evidence := get("evidence").Text(); evidence != "none" && evidence != "" {
		text += " by " + evidence
	}
	if numeric := get("numeric").Text(); get("verdict").Exact == "structure" && numeric != "none" {
		text += ", numbers " + numeric
	}
	if e := get("error"); !e.Null {
		text += ", error " + estimate(e, get("error_low"), get("error_high"))
	}
	if t := get("tolerance"); !t.Null {
		text += ", tolerance " + shortNumber(t.Number)
	}
	if reason := get("reason").Text(); reason != "" && reason != "-" {
		text += ", " + reason
	}
	return text
}

// estimate is an error with its exactness: statistics prove only a lower bound.
func estimate(e, low, high Value) string {
	text := shortNumber(e.Number)
	switch {
	case low.Null || high.Null || low.Number == high.Number || math.IsInf(e.Number, 0):
		return text
	case math.IsInf(high.Number, 1):
		return "at least " + text
	}
	return fmt.Sprintf("%s (%.3g to %.3g)", text, low.Number, high.Number)
}

// msprobe is msProbe's result for the same tensor, where that is known.
func (x *explanation) msprobe(row int) string {
	for i := range x.Msprobe.Rows {
		same := func(column string) bool { return x.Msprobe.Get(i, column).Exact == x.Rows.Get(row, column).Exact }
		if !same("role") || !same("path") {
			continue
		}
		text := x.Msprobe.Get(i, "msprobe_result").Text()
		if message := x.Msprobe.Get(i, "msprobe_message"); !message.Null && message.Exact != "" {
			text += ": " + oneLine(message.Exact)
		}
		return text
	}
	return ""
}

// list is the elements of a list of texts; nil when the value is none.
func (v Value) list() []string {
	var elements []string
	if v.Null || json.Unmarshal([]byte(v.JSON), &elements) != nil {
		return nil
	}
	return elements
}
