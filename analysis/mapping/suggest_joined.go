package mapping

import (
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/rows"
)

// mostParts is the greatest number of modules that may make one.
const mostParts = 4

// join pairs modules of one run that follow each other in one parent with a module of the other that is all of them.
func (s *suggestion) join(side string, split []module, other string, whole []module, fits func([]module, module) bool, pair func(parts, whole string)) {
	for _, w := range whole {
		for first := range split {
			if parts := s.partsOf(w, split[first:], side, fits); parts != nil && !s.taken[other+w.path] {
				s.taken[other+w.path] = true
				pair(s.listed(parts, side), w.path)
			}
		}
	}
}

// partsOf are the first modules of a list that make up a whole; nil where they do not. Modules between them that have
// partners of their own do not count.
func (s *suggestion) partsOf(whole module, list []module, side string, fits func([]module, module) bool) []module {
	parent, _ := cutLast(list[0].path)
	var parts []module
	for _, m := range list {
		if above, _ := cutLast(m.path); above != parent || len(parts) == mostParts {
			break
		}
		if s.taken[side+m.path] {
			if len(parts) == 0 {
				return nil
			}
			continue
		}
		parts = append(parts, m)
		if len(parts) > 1 && fits(parts, whole) {
			return parts
		}
	}
	return nil
}

func makeUp(parts []module, whole module) bool {
	if len(whole.parameters) == 0 {
		return false
	}
	for name, w := range whole.parameters {
		shapes, observed := make([][]int64, len(parts)), make([]rows.Observation, len(parts))
		for i, part := range parts {
			p, ok := part.parameters[name]
			if !ok || len(part.parameters) != len(whole.parameters) {
				return false
			}
			shapes[i], observed[i] = p.shape, p.Observation
		}
		shape, ok := concatenatedShape(shapes, defaultAlong)
		merged := Merge(observed)
		if !ok || !slices.Equal(shape, w.shape) || !sameStatistics(&merged, &w.Observation) {
			return false
		}
	}
	return true
}

// listed takes the parts, and writes them as a list.
func (s *suggestion) listed(parts []module, side string) string {
	names := make([]string, len(parts))
	var parent string
	for i, part := range parts {
		s.taken[side+part.path] = true
		parent, names[i] = cutLast(part.path)
	}
	return below(parent, "["+strings.Join(names, ", ")+"]")
}
