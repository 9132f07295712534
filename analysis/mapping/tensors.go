package mapping

import (
	"slices"

	"github.com/tensortap/tensortap/analysis/rows"
)

// tensors are the tensors of a place through the map, in the order of their first parts.
func (s *side) tensors(at rows.Place, recorded *rows.Tensors) *rows.Tensors {
	of := s.programs[at]
	if of == nil {
		of = s.open
	}
	if of == nil || len(of.sites) == 0 && len(s.layouts.flat) == 0 {
		return recorded
	}
	wholes, taken := s.gather(of, recorded)
	seen := &rows.Tensors{Recorded: recorded.Len()}
	for i := range recorded.Len() {
		switch whole, first := wholes[i]; {
		case first:
			seen.Add(s.joined(whole, recorded))
		case !taken[i]:
			o := recorded.At(i)
			if t := of.sites[o.SiteID]; t.of == 0 && t.site != 0 {
				o.SiteID = t.site
			}
			o.LayoutID = s.layouts.flattened(o.LayoutID)
			seen.Add(o)
		}
	}
	return seen
}

// whole is the rows that are parts of one tensor.
type whole struct {
	target
	rows []int // by part
}

// occurrence separates the tensors of one site.
type occurrence struct {
	site  uint64
	micro uint16
	times int
}

// gather finds the rows that make a whole, by the first of each; taken are all of them.
func (s *side) gather(of *program, recorded *rows.Tensors) (byFirst map[int]whole, taken []bool) {
	times := map[occurrence]int{}
	found := map[occurrence]*whole{}
	for i := range recorded.Len() {
		t := of.sites[recorded.SiteID[i]]
		if t.of == 0 {
			continue
		}
		micro := recorded.At(i).MicroStep
		seen := occurrence{site: recorded.SiteID[i], micro: micro}
		key := occurrence{site: t.site, micro: micro, times: times[seen]}
		times[seen]++
		if found[key] == nil {
			found[key] = &whole{target: t, rows: slices.Repeat([]int{-1}, int(t.of))}
		}
		found[key].rows[t.part] = i
	}
	byFirst, taken = make(map[int]whole, len(found)), make([]bool, recorded.Len())
	for _, w := range found {
		if slices.Contains(w.rows, -1) {
			continue
		}
		byFirst[slices.Min(w.rows)] = *w
		for _, row := range w.rows {
			taken[row] = true
		}
	}
	return byFirst, taken
}

// joined is the tensor that parts make.
func (s *side) joined(w whole, recorded *rows.Tensors) rows.Observation {
	parts := make([]rows.Observation, len(w.rows))
	for i, row := range w.rows {
		parts[i] = recorded.At(row)
	}
	one := s.make(w.target, parts)
	one.LayoutID = s.layouts.flattened(one.LayoutID)
	first := recorded.At(slices.Min(w.rows))
	one.Seq, one.MicroStep, one.SiteID = first.Seq, first.MicroStep, w.site
	return one
}

func (s *side) make(t target, parts []rows.Observation) rows.Observation {
	copied, same := copiesOf(parts)
	switch {
	case same && (t.mustAgree || t.ifSame):
		return copied
	case t.mustAgree || t.how == added:
		return noWhole(parts[0])
	}
	definitions := s.layouts.definitions.Layouts
	first := definitions[parts[0].LayoutID]
	if first == nil || first.Kind != kindTensor {
		if same {
			return copied
		}
		return noWhole(parts[0])
	}
	shapes := make([][]int64, len(parts))
	for i := range parts {
		l := definitions[parts[i].LayoutID]
		if l == nil || l.Dtype != first.Dtype || l.Kind != kindTensor {
			return noWhole(parts[0])
		}
		shapes[i] = l.Shape
	}
	shape, ok := concatenatedShape(shapes, t.along)
	layout := uint64(0)
	if ok {
		layout = s.layouts.like(first, s.layouts.seen(shape))
	}
	if layout == 0 {
		return noWhole(parts[0])
	}
	one := Merge(parts)
	one.LayoutID = layout
	return one
}

const kindTensor = "tensor"
