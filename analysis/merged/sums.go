package merged

import (
	"context"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/pair/merge"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Sums gives the tensors of two runs whose groups have as many ranks. The ranks of one run may hold parts of a sum that the other
// has added up: each of them has the sum here. Its methods may be called at the same time.
type Sums struct {
	rows.Source
	sides map[*rows.Run]*openSide
}

// openSide is a run with the sites whose values its ranks may leave to be added up.
type openSide struct {
	side
	sites   map[uint64]string
	leaders map[uint32]uint32 // of each rank the least of its group
	partner *openSide
}

// AddUp looks for such sums at these sites of problem and bench. It is nil where groups have different sizes, or one rank. Other
// arguments are those of Open.
func AddUp(ctx context.Context, base rows.Source, problem, bench *rows.Run, offset int64, rename pair.Rename, sites [2]map[uint64]string) (*Sums, error) {
	c := newComparison(problem, bench, offset, &Source{base: base, definitions: base.Definitions(), rename: rename})
	if len(sites[0])+len(sites[1]) == 0 || !c.sizes.Same() || c.sizes.Problem < 2 {
		return nil, nil //nolint:nilnil // there is nothing to add up
	}
	c.pairSteps()
	planner, err := c.planner(ctx)
	if err != nil {
		return nil, err
	}
	p, b := c.openSide(planner, c.ofProblem(), sites[0]), c.openSide(planner, c.ofBench(), sites[1])
	p.partner, b.partner = b, p
	return &Sums{Source: base, sides: map[*rows.Run]*openSide{problem: p, bench: b}}, nil
}

func (c *comparison) openSide(planner *pair.Planner, s side, sites map[uint64]string) *openSide {
	o := &openSide{side: *c.side(planner, s), sites: sites, leaders: map[uint32]uint32{}}
	for _, g := range o.merger.Groups() {
		for _, rank := range g.Ranks {
			o.leaders[rank] = g.Leader
		}
	}
	return o
}

// Tensors gives the tensors of the other source, with sums in the places of their parts.
func (s *Sums) Tensors(ctx context.Context, run *rows.Run, places []rows.Place) (map[rows.Place]*rows.Tensors, error) {
	of := s.sides[run]
	if of == nil || len(of.sites) == 0 {
		return s.Source.Tensors(ctx, run, places)
	}
	leaders := of.leading(places)
	own, err := s.Source.Tensors(ctx, run, of.groupsOf(leaders))
	if err != nil {
		return nil, err
	}
	other, err := s.Source.Tensors(ctx, of.other, of.partner.groupsOf(of.partner.leading(of.partnersOf(leaders))))
	if err != nil {
		return nil, err
	}
	sums := map[rows.Place]map[tensor]*schemas.TensorRow{}
	for _, at := range leaders {
		sums[at] = of.sums(at, own, other)
	}
	made := make(map[rows.Place]*rows.Tensors, len(places))
	for _, at := range places {
		if t := own[at]; t != nil {
			made[at] = withSums(t, sums[of.leader(at)])
		}
	}
	return made, nil
}

func (s *openSide) leader(at rows.Place) rows.Place {
	if leader, known := s.leaders[at.Rank]; known {
		at.Rank = leader
	}
	return at
}

// leading are the places of the leaders of places, each once.
func (s *openSide) leading(places []rows.Place) (leaders []rows.Place) {
	seen := map[rows.Place]bool{}
	for _, at := range places {
		if leader := s.leader(at); !seen[leader] {
			seen[leader] = true
			leaders = append(leaders, leader)
		}
	}
	return leaders
}

// groupsOf are the places of all ranks of groups.
func (s *openSide) groupsOf(leaders []rows.Place) (all []rows.Place) {
	for _, at := range leaders {
		all = append(all, s.merger.Parts(at)...)
	}
	return all
}

// partnersOf are the places of the other run beside those.
func (s *openSide) partnersOf(leaders []rows.Place) (all []rows.Place) {
	for _, at := range leaders {
		if beside, ok := s.beside[at]; ok {
			all = append(all, beside.other)
		}
	}
	return all
}

// tensor is one of several of a site at a place.
type tensor struct {
	site  uint64
	times int
}

// sums adds up what the ranks of a group left open at a step.
func (s *openSide) sums(leader rows.Place, own, other map[rows.Place]*rows.Tensors) map[tensor]*schemas.TensorRow {
	beside := s.besideLeader(leader, own[leader], other)
	if beside.Tensors.Len() == 0 {
		return nil
	}
	partner := s.partner.leader(s.beside[leader].other)
	ownTables, otherTables := tablesOf(own, s.merger.Parts(leader)), tablesOf(other, s.partner.merger.Parts(partner))
	times, otherTimes := timesOf(own[leader]), timesOf(beside.Tensors)
	sums := map[tensor]*schemas.TensorRow{}
	for i, j := range beside.Rows {
		site := own[leader].SiteID[i]
		if j < 0 || s.sites[site] == "" {
			continue
		}
		one, another := tensor{site, times[i]}, tensor{beside.Tensors.SiteID[j], otherTimes[j]}
		if sum := merge.OpenSum(ownTables.all(one), otherTables.all(another), s.merger.Definitions()); sum != nil {
			sums[one] = sum
		}
	}
	return sums
}

// tables have the rows of each tensor, for each rank of a group.
type tables []struct {
	tensors *rows.Tensors
	rows    map[tensor]int
}

func tablesOf(tensors map[rows.Place]*rows.Tensors, places []rows.Place) tables {
	t := make(tables, len(places))
	for i, at := range places {
		t[i].tensors, t[i].rows = tensors[at], map[tensor]int{}
		for row, times := range timesOf(tensors[at]) {
			t[i].rows[tensor{tensors[at].SiteID[row], times}] = row
		}
	}
	return t
}

// all are the observations of a tensor by all ranks; none where a rank lacks it.
func (t tables) all(one tensor) []rows.Observation {
	list := make([]rows.Observation, 0, len(t))
	for i := range t {
		row, ok := t[i].rows[one]
		if !ok {
			return nil
		}
		list = append(list, t[i].tensors.At(row))
	}
	return list
}

// timesOf says of each row how often its site was there before.
func timesOf(t *rows.Tensors) []int {
	times, seen := make([]int, t.Len()), map[uint64]int{}
	for i := range times {
		times[i] = seen[t.SiteID[i]]
		seen[t.SiteID[i]]++
	}
	return times
}

// withSums are tensors with sums in the places of a rank's parts.
func withSums(recorded *rows.Tensors, sums map[tensor]*schemas.TensorRow) *rows.Tensors {
	if len(sums) == 0 {
		return recorded
	}
	made := &rows.Tensors{Recorded: recorded.Recorded}
	for i, times := range timesOf(recorded) {
		part := recorded.At(i)
		sum := sums[tensor{part.SiteID, times}]
		if sum == nil {
			made.Add(part)
			continue
		}
		row := *sum
		row.Seq, row.MicroStep = part.Seq, part.MicroStep
		made.Append(&row)
	}
	return made
}
