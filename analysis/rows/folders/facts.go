package folders

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// conclude fills in the facts about the run once all its dumps are read.
func (r *run) conclude(definitions *rows.Definitions) {
	r.facts = &rows.Run{
		Name: r.folder.Name, ID: schemas.RunID(r.folder.Name),
		Described: r.found.Describe(r.folder.Name, r.found.Labels(nil)),
		Stacks:    map[rows.Call]uint64{},
	}
	for i := range r.dumps {
		d := &r.dumps[i]
		r.facts.Ranks = append(r.facts.Ranks, d.rank)
		r.facts.Steps = append(r.facts.Steps, d.step)
	}
	for _, calls := range r.calls {
		for call, stack := range calls {
			addStack(r.facts.Stacks, call, stack)
		}
	}
	r.facts.Ranks = latest(r.facts.Ranks)
	slices.SortFunc(r.facts.Steps, func(a, b schemas.StepRow) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Step, b.Step))
	})
	r.facts.MainDtype = r.mainDtype(definitions.Layouts)
	r.complete()
}

func addStacks(stacks map[rows.Call]uint64, from []schemas.ProgramStackRow) {
	for _, row := range from {
		addStack(stacks, rows.Call{Program: row.ProgramID, Position: row.Position}, row.StackID)
	}
}

// addStack keeps the least stack of each call, as ranks may differ.
func addStack(stacks map[rows.Call]uint64, call rows.Call, stack uint64) {
	if known, ok := stacks[call]; !ok || stack < known {
		stacks[call] = stack
	}
}

// latest is the last row of each rank, by rank. The rows are in the order of steps.
func latest(ranks []schemas.RankRow) []schemas.RankRow {
	slices.Reverse(ranks)
	slices.SortStableFunc(ranks, func(a, b schemas.RankRow) int { return cmp.Compare(a.Rank, b.Rank) })
	return slices.CompactFunc(ranks, func(a, b schemas.RankRow) bool { return a.Rank == b.Rank })
}

// mainDtype is the float dtype of most tensors; of several the last by name.
func (r *run) mainDtype(layouts map[uint64]*schemas.LayoutRow) string {
	counts := map[string]uint64{}
	for i := range r.dumps {
		for id, count := range r.dumps[i].layouts {
			if layout := layouts[id]; layout != nil && layout.Kind == "tensor" && isFloat(layout.Dtype) {
				counts[layout.Dtype] += count
			}
		}
	}
	main := ""
	for dtype, count := range counts {
		if main == "" || count > counts[main] || count == counts[main] && dtype > main {
			main = dtype
		}
	}
	return main
}

func isFloat(dtype string) bool {
	dtype = strings.ToLower(dtype)
	return strings.Contains(dtype, "float") || strings.Contains(dtype, "half") || strings.Contains(dtype, "double")
}

// mostExpected bounds the ranks that are listed without a dump: a dump may claim any world size.
const mostExpected = 1 << 16

// complete lists the gaps of each rank that has a dump, or that belongs to the world size.
func (r *run) complete() {
	at := map[uint32]*rows.Completeness{}
	for i := range r.dumps {
		rank := r.dumps[i].place.Rank
		if at[rank] == nil {
			at[rank] = &rows.Completeness{Rank: rank}
		}
		count(at[rank], &r.dumps[i])
	}
	for rank := range r.expected() {
		if at[rank] == nil {
			at[rank] = &rows.Completeness{Rank: rank}
		}
	}
	for _, c := range at {
		explain(c)
		r.facts.Missing = append(r.facts.Missing, *c)
	}
	slices.SortFunc(r.facts.Missing, func(a, b rows.Completeness) int { return cmp.Compare(a.Rank, b.Rank) })
}

// expected is the number of ranks by the run itself.
func (r *run) expected() uint32 {
	size := r.facts.Described.WorldSize
	if size == nil {
		return 0
	}
	if *size > mostExpected {
		r.limits = append(r.limits, fmt.Sprintf("%s: a world of %d ranks, of which the first %d are looked for", r.folder.Path, *size, mostExpected))
	}
	return min(*size, mostExpected)
}

func count(c *rows.Completeness, d *dump) {
	c.Steps++
	c.Produced += d.step.TensorCount
	c.Stored += uint64(d.tensors.Len()) //nolint:gosec // never negative
	c.Dropped += d.step.DroppedCount
	if d.step.DropReason != "" {
		c.DropReasons = append(c.DropReasons, d.step.DropReason)
	}
	if d.step.Complete == 0 {
		c.IncompleteSteps++
	}
	if at := d.step.EventTimeNs; c.LastEventTimeNs == nil || at > *c.LastEventTimeNs {
		c.LastEventTimeNs = &at
	}
}

// explain puts the gaps into words.
func explain(c *rows.Completeness) {
	slices.Sort(c.DropReasons)
	c.DropReasons = slices.Compact(c.DropReasons)
	var parts []string
	if c.Stored == 0 && c.Steps == 0 {
		parts = append(parts, "nothing was stored")
	}
	if c.Dropped > 0 {
		parts = append(parts, fmt.Sprintf("the rank dropped %d (%s)", c.Dropped, strings.Join(c.DropReasons, "; ")))
	}
	if c.IncompleteSteps > 0 {
		parts = append(parts, fmt.Sprintf("%d steps were cut short", c.IncompleteSteps))
	}
	c.Explanation = strings.Join(parts, ", ")
	c.Complete = c.Explanation == ""
}

func sortPayloads(payloads []schemas.PayloadRow) {
	slices.SortStableFunc(payloads, func(a, b schemas.PayloadRow) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Step, b.Step), cmp.Compare(a.Seq, b.Seq))
	})
}
