package agent

import (
	"math"
	"strconv"
	"strings"

	"github.com/tensortap/tensortap/schemas"
)

// number translates a record of an argument that is a number. Its layout is made here of the value, and is the same as
// that of a number which the process defined, as before version 4 of the spool, or which another tool has dumped.
func (t *translator) number(position uint64, memory []byte) error {
	var r schemas.SpoolNumber
	r.Load(memory)
	step := t.step()
	if step == nil {
		return nil
	}
	site, _ := at(t.known.sites, r.Site)
	kind, _ := at(t.known.layouts, r.Layout)
	if site == 0 || kind.numbers == nil {
		step.lose(1, reasonUndefined)
		return nil
	}
	layout := numeral(*kind.numbers, &r)
	if !sent(&t.Numerals, layout.LayoutID, mostNumerals) {
		if err := add(t.out, t.out.layout, &layout, len(layout.Literal)); err != nil {
			return err
		}
	}
	t.row(step, r.Seq, position, site, layout.LayoutID)
	t.literal(numberIn(layout.Literal))
	return t.hand(step)
}

// numeral is the layout of a number of that kind.
func numeral(layout schemas.LayoutRow, r *schemas.SpoolNumber) schemas.LayoutRow {
	if layout.Kind == kindInt {
		layout.Literal = strconv.FormatInt(r.Whole, 10)
	} else {
		layout.Literal = floatText(r.Real)
	}
	layout.LayoutID = schemas.LayoutID(&layout)
	return layout
}

// floatText is a float as the collector writes it: as Python prints it, but for those that are not finite.
func floatText(v float64) string {
	const least, beyond = 1e-4, 1e16 // of those that Python prints without an exponent
	if size := math.Abs(v); size != 0 && (size < least || size >= beyond) {
		text := strconv.FormatFloat(v, 'e', -1, 64)
		return strings.Replace(strings.TrimPrefix(text, "+"), "Inf", "Infinity", 1)
	}
	text := strconv.FormatFloat(v, 'f', -1, 64)
	if strings.ContainsAny(text, ".N") {
		return text
	}
	return text + ".0"
}
