package mapping

import (
	"maps"
	"slices"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// named are the ops and tensors that a map names in full, and the arguments that it reorders.
type named struct {
	sites     map[uint64]uint64  // sites of the bench, with their partners
	partners  map[uint64]bool    // those partners
	benchOps  map[uint64]bool    // of which no other tensors pair
	arguments map[uint64]apiRule // by op of the problem
	streams   map[uint64]bool    // sites of the problem that are residual streams
	apart     [2]map[uint64]string
	casts     [2]map[uint64]string
	sums      [2]map[uint64]string
	lines     map[int]int // pairs that lines of values made
}

// Moved adds the pairs of the map to the pairs of sites with different names. The partner of a site is a site of the
// problem, or pair.Nobody.
func (s *Source) Moved(bench *rows.Tensors, moved map[uint64]uint64) map[uint64]uint64 {
	n := &s.named
	if len(n.sites) == 0 && len(n.arguments) == 0 {
		return moved
	}
	all := make(map[uint64]uint64, len(moved))
	maps.Copy(all, moved)
	for _, id := range bench.SiteID {
		name, ok := all[id]
		if !ok {
			name = id
		}
		if to := s.partner(id, name); to != name {
			all[id] = to
		}
	}
	return all
}

// partner is the partner of a site of the bench that would pair with the site of that name.
func (s *Source) partner(id, name uint64) uint64 {
	if to, ok := s.named.sites[id]; ok {
		return to
	}
	if s.named.partners[name] || s.named.benchOps[s.definitions.Sites[id].OpID] {
		return pair.Nobody
	}
	site, known := s.definitions.Sites[name]
	rule, reordered := s.named.arguments[site.OpID]
	if !known || !reordered {
		return name
	}
	at := slices.IndexFunc(rule.arguments, func(a argument) bool { return a.bench == tensorPlace{site.Role, site.Path} })
	if at < 0 {
		return pair.Nobody
	}
	place := rule.arguments[at].problem
	return schemas.SiteID(site.OpID, place.role, place.path)
}

// name finds the names of the map in the programs of both runs.
func (v *view) named(problem, bench names, renamed map[uint64]uint64) named {
	n := named{
		sites: map[uint64]uint64{}, partners: map[uint64]bool{}, benchOps: map[uint64]bool{}, arguments: map[uint64]apiRule{},
		streams: map[uint64]bool{}, apart: [2]map[uint64]string{{}, {}}, casts: [2]map[uint64]string{{}, {}}, sums: [2]map[uint64]string{{}, {}}, lines: map[int]int{},
	}
	for _, list := range []struct {
		rules []apartRule
		into  [2]map[uint64]string
	}{{v.rules.apart, n.apart}, {v.rules.casts, n.casts}, {v.rules.sums, n.sums}} {
		v.setApart(list.into[0], of(list.rules, sideProblem), problem, renamed)
		v.setApart(list.into[1], of(list.rules, sideBench), bench, nil)
	}
	v.nameValues(&n, problem, bench, renamed)
	for id := range problem.ops {
		op := v.recorded.Ops[id]
		if op == nil {
			continue
		}
		seen := id
		if to, ok := renamed[id]; ok {
			seen = to
		}
		for i := range v.rules.exact {
			r := &v.rules.exact[i]
			if to, ok := r.partner(op.Name); ok && bench.ops[to] {
				v.nameSites(&n, r, id, seen, to)
			}
		}
		for _, r := range v.rules.apis {
			if r.listed && r.problem == op.Prefix+"."+op.ClassOrAPI {
				n.arguments[seen] = r
			}
		}
	}
	return n
}

// partner is the op of the bench for an op of the problem.
func (r *exactRule) partner(name string) (uint64, bool) {
	found, ok := r.problem.find(name)
	if !ok || found.rest != "" {
		return 0, false
	}
	return schemas.OpID(fill(r.bench.text, found.texts)), true
}

// nameSites pairs the sites of two ops: the one that a line names, or all.
func (v *view) nameSites(n *named, r *exactRule, recorded, seen, partner uint64) {
	add := func(own, other tensorPlace) {
		site := schemas.SiteID(seen, own.role, own.path)
		n.sites[schemas.SiteID(partner, other.role, other.path)] = site
		n.partners[site] = true
	}
	if r.tensor {
		add(r.problemPlace, r.benchPlace)
		return
	}
	n.benchOps[partner] = true
	for _, id := range v.sites[recorded] {
		site := v.recorded.Sites[id]
		add(tensorPlace{site.Role, site.Path}, tensorPlace{site.Role, site.Path})
	}
}
