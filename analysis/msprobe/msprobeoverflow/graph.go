package msprobeoverflow

import (
	"slices"
)

// graph joins the calls of all ranks.
type graph struct{ ranks []*rankOps }

func newGraph(ranks []*rankOps) *graph {
	g := &graph{ranks: ranks}
	for _, r := range ranks {
		r.collect()
	}
	for i := range ranks {
		g.connect(i)
	}
	for _, r := range ranks {
		r.prune()
	}
	return g
}

// connect joins each call of a rank with its partners on the ranks after it.
func (g *graph) connect(from int) {
	taken := map[*call]bool{}
	for _, c := range g.ranks[from].calls {
		named := c.others()
		for _, other := range g.ranks[from+1:] {
			if len(named) > 0 && !named[int64(other.rank)] {
				continue
			}
			if partner := c.partner(other, taken); partner != nil {
				taken[partner] = true
				partner.layer = c.layer
				c.links[partner], partner.links[c] = true, true
			}
		}
	}
}

// partner is the first call of another rank that fits and is not taken.
func (c *call) partner(other *rankOps, taken map[*call]bool) *call {
	for _, candidate := range other.calls {
		if taken[candidate] || candidate.api != c.partnerAPI() || candidate.part != c.part.opposite() {
			continue
		}
		_, isDirected := directed(candidate.api)
		if named := candidate.others(); named[int64(c.Rank)] || len(named) == 0 && !isDirected {
			return candidate
		}
	}
	return nil
}

// prune takes out the calls where all is finite and nothing began before.
func (r *rankOps) prune() {
	r.calls = slices.DeleteFunc(r.calls, func(c *call) bool {
		if c.InputBad || c.OutputBad || len(c.began) > 0 {
			return false
		}
		for partner := range c.links {
			delete(partner.links, c)
		}
		return true
	})
}

// first is the origin that the calls lead back to, if any does. They are taken in the order of their layers, one of each
// rank at a time; what the first of them is joined with is judged together.
func (g *graph) first() (Origin, bool) {
	seen := map[*call]bool{}
	queues := make([][]*call, len(g.ranks))
	for i, r := range g.ranks {
		queues[i] = slices.Clone(r.calls)
		slices.SortStableFunc(queues[i], func(a, b *call) int { return a.layer - b.layer })
	}
	for slices.ContainsFunc(queues, func(q []*call) bool { return len(q) > 0 }) {
		var group []*call
		for i := range queues {
			if c := next(&queues[i], seen); c != nil && group == nil {
				group = c.joined()
			}
		}
		for _, c := range group {
			seen[c] = true
		}
		if origin, ok := judge(group); ok {
			return origin, true
		}
	}
	return Origin{}, false
}

func next(queue *[]*call, seen map[*call]bool) *call {
	for len(*queue) > 0 {
		c := (*queue)[0]
		*queue = (*queue)[1:]
		if !seen[c] {
			return c
		}
	}
	return nil
}

// joined is the call with all that it is joined with, in the order of ranks.
func (c *call) joined() []*call {
	group := []*call{c}
	for i := 0; i < len(group); i++ {
		for partner := range group[i].links {
			if !slices.Contains(group, partner) {
				group = append(group, partner)
			}
		}
	}
	slices.SortFunc(group, func(a, b *call) int { return int(a.Rank) - int(b.Rank) })
	return group
}

// judge names the earliest op that began something before a call that had it as input, or a call that began it itself.
func judge(group []*call) (Origin, bool) {
	var found []began
	for _, c := range group {
		if c.part != destination && c.InputBad {
			for _, b := range c.began {
				found = append(found, began{Op: b.Op, layer: c.layer, place: b.place})
			}
		}
	}
	for _, c := range group {
		if c.begins() {
			found = append(found, began{Op: c.Op, layer: c.layer, place: c.place})
		}
	}
	if len(found) == 0 {
		return Origin{}, false
	}
	least := slices.MinFunc(found, func(a, b began) int {
		if a.layer != b.layer {
			return a.layer - b.layer
		}
		return a.place - b.place
	})
	return Origin{least.Rank, least.Name}, true
}
