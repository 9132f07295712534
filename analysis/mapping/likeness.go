package mapping

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// pairByValues pairs modules by what they returned: each the nearest of the other.
func (s *suggestion) pairByValues() {
	nearest := s.nearest("p", s.problem, "b", s.bench)
	back := s.nearest("b", s.bench, "p", s.problem)
	for i := range s.problem {
		p := &s.problem[i]
		found, ok := nearest[p.path]
		if !ok || back[found.path].path != p.path || s.taken["b"+found.path] {
			continue
		}
		s.pair(p.path, found.path, evidence{byValues, found.sure})
		s.taken["p"+p.path], s.taken["b"+found.path] = true, true
	}
}

// neighbour is a module that returned the like of another.
type neighbour struct {
	path string
	sure float64
}

// nearest is, for each module without partner, the module of the other run that returned what is nearest to its own; of
// several that are as near, one of the same name, else the first.
func (s *suggestion) nearest(side string, of []module, otherSide string, others []module) map[string]neighbour {
	free := s.free(otherSide, others)
	slices.SortStableFunc(free, func(a, b *module) int { return cmp.Compare(a.returned.ElementCount, b.returned.ElementCount) })
	found := map[string]neighbour{}
	for _, m := range s.free(side, of) {
		from, _ := slices.BinarySearchFunc(free, m.returned.ElementCount, func(o *module, n uint64) int { return cmp.Compare(o.returned.ElementCount, n) })
		best, second := math.Inf(1), math.Inf(1)
		var partner *module
		for _, o := range free[from:] {
			if o.returned.ElementCount != m.returned.ElementCount {
				break
			}
			switch away := distance(m.returned, &o.returned.Observation); {
			case away < best || partner != nil && away == best && lastName(o) == lastName(m) && lastName(partner) != lastName(m):
				best, second, partner = away, best, o
			case away < second:
				second = away
			}
		}
		if partner != nil && best <= roomOf(m.returned) {
			found[m.path] = neighbour{partner.path, surer(best, second)}
		}
	}
	return found
}

func lastName(m *module) string {
	_, last := cutLast(m.path)
	return last
}

// surer is how sure the nearest is beside the next.
func surer(best, second float64) float64 {
	switch {
	case second == 0:
		return 0
	case math.IsInf(second, 1):
		return 1
	}
	return 1 - best/second
}

// free are the modules that returned something and have no partner.
func (s *suggestion) free(side string, list []module) []*module {
	var free []*module
	for i := range list {
		if list[i].returned != nil && !s.taken[side+list[i].path] {
			free = append(free, &list[i])
		}
	}
	return free
}

// distance is the greatest relative distance of norm, mean, least and greatest of two tensors: infinite where these were
// not measured, or are not finite.
func distance(a *parameter, b *rows.Observation) float64 {
	const wanted = schemas.MeasuredL2 | schemas.MeasuredMean | schemas.MeasuredMin | schemas.MeasuredMax
	scale := math.Max(a.L2, b.L2)
	if !a.Has(wanted) || !b.Has(wanted) || scale == 0 || !a.Finite() || !b.Finite() {
		return math.Inf(1)
	}
	extreme := max(math.Abs(a.Min), math.Abs(a.Max), math.Abs(b.Min), math.Abs(b.Max))
	return max(
		math.Abs(a.L2-b.L2)/scale, math.Abs(a.Mean-b.Mean)*math.Sqrt(float64(a.ElementCount))/scale,
		math.Abs(a.Min-b.Min)/extreme, math.Abs(a.Max-b.Max)/extreme,
	)
}

// roomOf is the distance up to which two tensors may be one: sums in other orders, through some layers.
func roomOf(p *parameter) float64 {
	switch {
	case strings.HasSuffix(p.dtype, "bfloat16"):
		return 0.06
	case strings.HasSuffix(p.dtype, "float16"):
		return 0.01
	}
	return 1e-3
}

// returnTogether says whether a module returned what several returned, put behind each other.
func returnTogether(parts []module, whole module) bool {
	if whole.returned == nil {
		return false
	}
	observed := make([]rows.Observation, len(parts))
	for i := range parts {
		if parts[i].returned == nil {
			return false
		}
		observed[i] = parts[i].returned.Observation
	}
	merged := Merge(observed)
	return merged.ElementCount == whole.returned.ElementCount && distance(whole.returned, &merged) <= roomOf(whole.returned)
}
