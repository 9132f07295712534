package mapping

import (
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Suggest writes a mapping file for two runs from a step of each. Modules whose parameters have the same shapes and
// the same statistics are partners, in the order of execution. So are a module and several modules whose parameters,
// put behind each other, are its own. Modules without partner that hold no others are partners by what they returned, as
// near as their dtype allows, or by what several returned together. Modules that hold partners are partners. Each line says
// its evidence, and the file ends with what stayed alone. It is empty where all names are equal. Read it before you use it:
// equal statistics are evidence, no proof.
func Suggest(problem, bench *rows.Tensors, definitions *rows.Definitions) string {
	s := suggestion{
		problem: modulesOf(problem, definitions), bench: modulesOf(bench, definitions), pairs: map[string]string{},
		taken: map[string]bool{}, because: map[string]evidence{},
	}
	s.pairEqual()
	s.joinBoth(makeUp, byWeights)
	s.joinBoth(returnTogether, byValues)
	s.pairByValues()
	s.pairParents()
	return s.written()
}

func (s *suggestion) joinBoth(fits func(parts []module, whole module) bool, because string) {
	s.join("p", weighted(s.problem), "b", s.bench, fits, func(parts, whole string) { s.pair(parts, whole, evidence{because, 1}) })
	s.join("b", weighted(s.bench), "p", s.problem, fits, func(parts, whole string) { s.pair(whole, parts, evidence{because, 1}) })
}

// weighted are the modules with parameters: what is joined has some, what stands between its parts need not.
func weighted(list []module) []module {
	return slices.DeleteFunc(slices.Clone(list), func(m module) bool { return len(m.parameters) == 0 })
}

// evidence is why two modules are partners, and how sure that is: 1 less the ratio of their distance and that of the next
// best partner.
type evidence struct {
	because string
	sure    float64
}

const (
	byWeights = "weights"
	byValues  = "values"
	byParts   = "what they hold"
)

func (s *suggestion) pair(problem, bench string, because evidence) {
	s.pairs[problem], s.because[problem] = bench, because
}

// module is a module with the parameters and the result of one of its calls.
type module struct {
	path       string
	parameters map[string]parameter
	returned   *parameter // the first tensor of its result; nil where it holds other modules, or returned none
}

type parameter struct {
	shape []int64
	dtype string
	rows.Observation
}

// suggestion has the pairs so far: paths of the problem with paths of the bench, either of which may end in a list.
type suggestion struct {
	problem, bench []module
	pairs          map[string]string
	taken          map[string]bool // of either run, by side and path
	because        map[string]evidence
}

// modulesOf are the modules that have parameters, or hold no others and returned a tensor, in order of execution.
func modulesOf(t *rows.Tensors, definitions *rows.Definitions) []module {
	var list []module
	at := map[string]int{}
	for i := range t.Len() {
		o := t.At(i)
		site := definitions.Sites[o.SiteID]
		op, layout := definitions.Ops[site.OpID], definitions.Layouts[o.LayoutID]
		if site.Role != roleParameter && site.Role != roleOutput || layout == nil || !isForward(op) || o.ElementCount == 0 {
			continue
		}
		n, seen := at[op.ModulePath]
		if !seen {
			n = len(list)
			at[op.ModulePath] = n
			list = append(list, module{path: op.ModulePath, parameters: map[string]parameter{}})
		}
		list[n].take(site, parameter{shape: layout.Shape, dtype: layout.Dtype, Observation: o})
	}
	return known(list)
}

// take keeps a tensor of the first call.
func (m *module) take(site schemas.SiteRow, p parameter) {
	if site.Role == roleOutput {
		if m.returned == nil && site.Path == "0" && !strings.Contains(p.dtype, "int") {
			m.returned = &p
		}
		return
	}
	if _, again := m.parameters[site.Path]; !again {
		m.parameters[site.Path] = p
	}
}

// known are the modules of which something is known: of those that hold others, parameters alone.
func known(list []module) []module {
	holds := map[string]bool{}
	for i := range list {
		for above, _ := cutLast(list[i].path); above != ""; above, _ = cutLast(above) {
			holds[above] = true
		}
	}
	for i := range list {
		if holds[list[i].path] {
			list[i].returned = nil
		}
	}
	return slices.DeleteFunc(list, func(m module) bool { return len(m.parameters) == 0 && m.returned == nil })
}

// pairEqual pairs modules whose parameters are the same; of several that are, the first with the first.
func (s *suggestion) pairEqual() {
	for _, sameName := range []bool{true, false} {
		for _, p := range s.problem {
			for _, b := range s.bench {
				if s.taken["p"+p.path] || s.taken["b"+b.path] || sameName && p.path != b.path || !p.equal(&b) {
					continue
				}
				s.pair(p.path, b.path, evidence{byWeights, 1 / float64(s.equals(&p))})
				s.taken["p"+p.path], s.taken["b"+b.path] = true, true
			}
		}
	}
}

// equals counts the modules of the bench that a module is the same as.
func (s *suggestion) equals(p *module) (n int) {
	for _, b := range s.bench {
		if p.equal(&b) {
			n++
		}
	}
	return max(n, 1)
}

func (m *module) equal(other *module) bool {
	return len(m.parameters) > 0 && maps.EqualFunc(m.parameters, other.parameters, func(a, b parameter) bool {
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
		for above, beside := range level {
			s.pair(above, beside, evidence{byParts, 1})
		}
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
