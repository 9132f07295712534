package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// NamePart says of an origin in a merged rank which rank's part it is, as far as the parts tell; they are the answer of
// the report of that name for the origin's op.
func (c *Comparison) NamePart(origin int, merge Merge, parts Table) {
	before := c.Origins.Get(origin, "rank")
	least, err := strconv.ParseUint(before.Exact, 10, 32)
	if err != nil {
		return
	}
	ranks, why := parts.standOut(c.Origins.Get(origin, "role").Exact, c.Origins.Get(origin, "path").Exact)
	if len(ranks) == 0 {
		ranks = merge.Groups[uint32(least)]
	}
	if row, found := c.divergentAs(origin); found {
		c.Divergence.set(row, "rank", ranks[0])
	}
	c.Origins.set(origin, "rank", ranks[0])
	for len(c.Parts) <= origin {
		c.Parts = append(c.Parts, Part{})
	}
	c.Parts[origin] = Part{Ranks: ranks, Why: why}
}

// Part is whose part of a merged tensor is wrong.
type Part struct {
	Ranks []uint32 `json:"ranks"` // several where none stands out
	Why   string   `json:"why"`   // empty where none does
}

// standOut is which ranks hold a part that cannot be one of the whole, or else the one that is much the least like it.
func (t Table) standOut(role, path string) (ranks []uint32, why string) {
	var beyond, all []uint32
	var deviations []float64
	for i := range t.Rows {
		if t.Get(i, "role").Exact != role || t.Get(i, "path").Exact != path {
			continue
		}
		rank := uint32(t.Get(i, "rank").Number)
		all = append(all, rank)
		deviations = append(deviations, t.Get(i, "deviation").Number)
		if t.Get(i, "beyond").True() {
			beyond = append(beyond, rank)
		}
	}
	if len(beyond) > 0 && len(beyond) < len(all) {
		return slices.Compact(beyond), "its part reaches beyond the whole"
	}
	const clearly = 3
	if greatest := furthest(deviations); greatest >= 0 && clearAbove(deviations, greatest, clearly) {
		return all[greatest : greatest+1], "its part is the least like the whole, which is likely and no proof"
	}
	return nil, ""
}

func furthest(values []float64) int {
	at := -1
	for i, v := range values {
		if !math.IsNaN(v) && (at < 0 || v > values[at]) {
			at = i
		}
	}
	return at
}

// clearAbove says whether a value is many times each of the others.
func clearAbove(values []float64, at int, times float64) bool {
	for i, v := range values {
		if i != at && !(values[at] > times*v) {
			return false
		}
	}
	return len(values) > 1
}

// divergentAs is the row of the divergence that is an origin.
func (c *Comparison) divergentAs(origin int) (row int, found bool) {
	return (&note{Comparison: c}).divergent(c.Origins, origin)
}

// set puts a number into a row.
func (t Table) set(row int, column string, number uint32) {
	if at := slices.Index(t.Columns, column); at >= 0 {
		text := strconv.FormatUint(uint64(number), 10)
		t.Rows[row][at] = Value{Exact: text, JSON: text, Number: float64(number)}
	}
}

// part says whose part of a merged tensor an origin is.
func (n *note) part(origin int) {
	if origin >= len(n.Parts) || len(n.Parts[origin].Ranks) == 0 {
		return
	}
	part := n.Parts[origin]
	if part.Why == "" {
		n.line("", "in ranks %s, which are one here: none of them stands out", rankList(part.Ranks))
		return
	}
	n.line("", "in rank %s: %s", rankList(part.Ranks), part.Why)
}

// withParts adds to each origin the ranks whose part it is.
func (t Table) withParts(parts []Part) Table {
	if len(parts) == 0 {
		return t
	}
	with := Table{Columns: append(slices.Clone(t.Columns), "ranks", "ranks_because"), numeric: append(slices.Clone(t.numeric), false, false)}
	for i, row := range t.Rows {
		part := parts[min(i, len(parts)-1)]
		list := strings.ReplaceAll(fmt.Sprint(part.Ranks), " ", ",")
		with.Rows = append(with.Rows, append(slices.Clone(row), Value{Exact: list, JSON: list, Number: math.NaN()}, textValue(part.Why)))
	}
	return with
}

func textValue(text string) Value {
	return Value{Exact: text, JSON: string(appendJSONString(nil, text)), Number: math.NaN()}
}

// parts lists the tensors of the ranks that are one here.
func (x *explanation) parts() {
	label := "of parts"
	shown := 0
	for i := range x.Parts.Rows {
		get := func(column string) string { return x.Parts.Get(i, column).Text() }
		if x.Parts.Get(i, "value_l2").Null && x.Parts.Get(i, "value_max").Null || get("dtype") == "" {
			continue
		}
		if shown++; shown > partsShown {
			continue
		}
		x.line(label, "rank %s  %s %s  %s  min %s  max %s  mean %s  l2 %s", get("rank"), get("role"), get("path"), get("shape"),
			get("value_min"), get("value_max"), get("value_mean"), get("value_l2"))
		label = ""
	}
	if shown > partsShown {
		x.line("", "and %d more", shown-partsShown)
	}
}
