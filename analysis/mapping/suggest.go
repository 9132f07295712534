package mapping

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Suggest writes a mapping file for two runs from a step of each. Modules whose parameters have the same shapes and
// the same statistics are partners, in the order of execution. So are a module and several modules whose parameters,
// put behind each other, are its own. Modules that hold partners are partners. The file is empty where all names are
// equal. Read it before you use it: equal statistics are evidence, no proof.
func Suggest(problem, bench *rows.Tensors, definitions *rows.Definitions) string {
	s := suggestion{problem: modulesOf(problem, definitions), bench: modulesOf(bench, definitions), pairs: map[string]string{}, taken: map[string]bool{}}
	s.pairEqual()
	s.join(s.problem, s.bench, func(parts, whole string) { s.pairs[parts] = whole })
	s.join(s.bench, s.problem, func(parts, whole string) { s.pairs[whole] = parts })
	s.pairParents()
	return s.written()
}

// module is a module with the parameters of one of its calls.
type module struct {
	path       string
	parameters map[string]parameter
}

type parameter struct {
	shape []int64
	rows.Observation
}

// suggestion has the pairs so far: paths of the problem with paths of the bench, either of which may end in a list.
type suggestion struct {
	problem, bench []module
	pairs          map[string]string
	taken          map[string]bool // of either run, by side and path
}

// modulesOf are the modules that have parameters, in order of execution.
func modulesOf(t *rows.Tensors, definitions *rows.Definitions) []module {
	var list []module
	at := map[string]int{}
	for i := range t.Len() {
		o := t.At(i)
		site := definitions.Sites[o.SiteID]
		op, layout := definitions.Ops[site.OpID], definitions.Layouts[o.LayoutID]
		if site.Role != roleParameter || op == nil || layout == nil || op.Level != schemas.LevelModule || op.Phase != schemas.PhaseForward || o.ElementCount == 0 {
			continue
		}
		n, seen := at[op.ModulePath]
		if !seen {
			n = len(list)
			at[op.ModulePath] = n
			list = append(list, module{path: op.ModulePath, parameters: map[string]parameter{}})
		}
		if _, again := list[n].parameters[site.Path]; !again {
			list[n].parameters[site.Path] = parameter{shape: layout.Shape, Observation: o}
		}
	}
	return list
}

// pairEqual pairs modules whose parameters are the same; of several that are, the first with the first.
func (s *suggestion) pairEqual() {
	for _, sameName := range []bool{true, false} {
		for _, p := range s.problem {
			for _, b := range s.bench {
				if s.taken["p"+p.path] || s.taken["b"+b.path] || sameName && p.path != b.path || !p.equal(b) {
					continue
				}
				s.pairs[p.path] = b.path
				s.taken["p"+p.path], s.taken["b"+b.path] = true, true
			}
		}
	}
}

func (m module) equal(other module) bool {
	return maps.EqualFunc(m.parameters, other.parameters, func(a, b parameter) bool {
		return slices.Equal(a.shape, b.shape) && sameStatistics(&a.Observation, &b.Observation)
	})
}

// sameStatistics says whether two tensors may be the same, with room for the order of sums.
func sameStatistics(a, b *rows.Observation) bool {
	const room = 1e-5
	both := a.Measured & b.Measured
	spread := math.Max(a.L2, b.L2) / math.Sqrt(float64(max(a.ElementCount, 1)))
	within := func(bit uint32, x, y, scale float64) bool {
		return both&bit == 0 || x == y || math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= room*scale
	}
	return both&(schemas.MeasuredL2|schemas.MeasuredMean) != 0 && a.ElementCount == b.ElementCount &&
		within(schemas.MeasuredMin, a.Min, b.Min, 0) && within(schemas.MeasuredMax, a.Max, b.Max, 0) &&
		within(schemas.MeasuredMean, a.Mean, b.Mean, spread) && within(schemas.MeasuredL2, a.L2, b.L2, math.Max(a.L2, b.L2))
}

// mostParts is the greatest number of modules that may make one.
const mostParts = 4

// join pairs modules of one run that follow each other in one parent with a module of the other that is all of them.
func (s *suggestion) join(split, whole []module, pair func(parts, whole string)) {
	side, other := "p", "b"
	if len(split) > 0 && len(s.problem) > 0 && &split[0] != &s.problem[0] {
		side, other = other, side
	}
	for _, w := range whole {
		for first := range split {
			if parts := s.partsOf(w, split[first:], side); parts != nil && !s.taken[other+w.path] {
				s.taken[other+w.path] = true
				pair(s.listed(parts, side), w.path)
			}
		}
	}
}

// partsOf are the first modules of a list that make up a whole; nil where they do not. Modules between them that have
// partners of their own do not count.
func (s *suggestion) partsOf(whole module, list []module, side string) []module {
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
		if len(parts) > 1 && makeUp(parts, whole) {
			return parts
		}
	}
	return nil
}

func makeUp(parts []module, whole module) bool {
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

// pairParents pairs the parents of partners, from the innermost out, unless a parent holds partners
// of several.
func (s *suggestion) pairParents() {
	for level := s.pairs; len(level) > 0; {
		votes := map[string]map[string]int{}
		for p, b := range level {
			above, beside := parentOf(p), parentOf(b)
			if above == "" || beside == "" || s.pairs[above] != "" {
				continue
			}
			if votes[above] == nil {
				votes[above] = map[string]int{}
			}
			votes[above][beside]++
		}
		level = map[string]string{}
		for above, beside := range votes {
			if len(beside) == 1 {
				for b := range beside {
					level[above] = b
				}
			}
		}
		maps.Copy(s.pairs, level)
	}
}

// parentOf is the parent of a module; for a list, the parent of its parts.
func parentOf(path string) string {
	before, _, listed := strings.Cut(path, ".[")
	if listed {
		return before
	}
	above, _ := cutLast(path)
	return above
}

// written is a file with a line for each pair whose names differ, unless another line says it already.
func (s *suggestion) written() string {
	lines := map[string]string{}
	for p, b := range s.pairs {
		key, value := general(p, b)
		if old, ok := lines[key]; ok && old != value {
			key, value = p, b // not the same in all layers
		}
		lines[key] = value
	}
	keys := slices.SortedFunc(maps.Keys(lines), func(a, b string) int {
		return cmp.Or(cmp.Compare(strings.Count(a, "."), strings.Count(b, ".")), strings.Compare(a, b))
	})
	made := &Map{Kind: Own}
	var page strings.Builder
	for _, key := range keys {
		p, b, err := pairPatterns(key, lines[key])
		if err != nil || made.says(p, b) {
			continue
		}
		made.modules = append(made.modules, moduleRule{problem: p, bench: b})
		fmt.Fprintf(&page, "  %s: %s\n", written(key), written(lines[key]))
	}
	if page.Len() == 0 {
		return ""
	}
	return sectionModules + ":\n" + page.String()
}

// says whether the lines so far make a module the partner of another.
func (m *Map) says(p, b *pattern) bool {
	if p.joins() || b.joins() {
		return false
	}
	name, _ := m.matched(plain(p.text))
	return name == plain(b.text)
}

// general has a capture in place of each number that stands in both names, in the same order.
func general(problem, bench string) (p, b string) {
	left, right := strings.Split(problem, "."), strings.Split(bench, ".")
	next, n := 0, 0
	for i, part := range left {
		at := slices.Index(right[next:], part)
		if !isNumber(part) || at < 0 {
			continue
		}
		capture := "<" + string(rune('n'+n)) + ">"
		left[i], right[next+at] = capture, capture
		next, n = next+at+1, n+1
	}
	return strings.Join(left, "."), strings.Join(right, ".")
}

// written is a name as YAML reads it back.
func written(name string) string {
	if strings.HasPrefix(name, "[") || strings.ContainsAny(name, `:#'"\`) || isNumber(name) {
		return "'" + strings.ReplaceAll(name, "'", "''") + "'"
	}
	return name
}
