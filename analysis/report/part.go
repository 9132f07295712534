package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// NameParts names the rank for each origin, in their order, where ranks were merged. The first of those ranks is the
// one that the origin names.
func (c *Comparison) NameParts(parts []Part) {
	c.Parts = parts
	for origin, part := range parts {
		if row, found := c.divergentAs(origin); found {
			c.Divergence.set(row, "rank", part.Ranks[0])
		}
		c.Origins.set(origin, "rank", part.Ranks[0])
	}
}

// Part names the ranks whose part of a merged tensor is wrong.
type Part struct {
	Ranks []uint32 `json:"ranks"` // several where none stands out
	Why   string   `json:"why"`   // empty where none does
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

// part names the ranks of an origin in a merged tensor.
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

// withParts adds those ranks to each origin.
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
