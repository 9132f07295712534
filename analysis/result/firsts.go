package result

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/origin"
	"github.com/tensortap/tensortap/analysis/pair"
)

// rankFirst is the first step of a rank that differs.
type rankFirst struct {
	known          bool
	at             pair.Step
	found          foundFirst
	differingCount uint64 // of all steps
}

// take adds a place that differs.
func (r *rankFirst) take(p *Placed) {
	if !r.known || p.at.Step < r.at.Step {
		r.at, r.found, r.known = p.at, p.found, true
	}
	r.differingCount += p.summary.DifferingCount
}

// sortedFirsts are the first differences of all ranks, by step, then rank.
func (c *Collector) sortedFirsts() []*rankFirst {
	return slices.SortedFunc(maps.Values(c.firsts), func(a, b *rankFirst) int {
		return cmp.Or(cmp.Compare(a.at.Step, b.at.Step), cmp.Compare(a.at.Rank, b.at.Rank))
	})
}

// earliest are the ranks that differ in the first step that differs.
func (c *Collector) earliest() []*rankFirst {
	firsts := c.sortedFirsts()
	for i, first := range firsts {
		if first.at.Step != firsts[0].at.Step {
			return firsts[:i]
		}
	}
	return firsts
}

func (c *Collector) firstDifferences() []FirstDifference {
	var shown []FirstDifference
	for _, first := range c.sortedFirsts() {
		shown = append(shown, FirstDifference{
			Difference: *c.names.difference(first.at, &first.found.first), ErrorIn: first.found.errorIn, ErrorOut: first.found.errorOut,
			DifferingCount: first.differingCount,
		})
	}
	return shown
}

// origins are the firsts that no other rank's precedes.
func (c *Collector) origins(with Finishing) []Origin {
	firsts := c.earliest()
	events := make([]origin.Event, len(firsts))
	for i, first := range firsts {
		events[i] = origin.Event{Rank: first.at.Rank, Seq: first.found.shown().Own().Seq}
	}
	left := origin.Unpreceded(events, with.Meetings)
	var origins []Origin
	for _, i := range left {
		one := c.origin(firsts[i], with)
		one.Concurrent = len(left)
		origins = append(origins, one)
	}
	slices.SortStableFunc(origins, func(a, b Origin) int { return cmp.Compare(a.Own().Seq, b.Own().Seq) })
	return origins
}

// origin says which kind of place the first difference of a rank is.
func (c *Collector) origin(first *rankFirst, with Finishing) Origin {
	shown := first.found.shown()
	o := Origin{Difference: *c.names.difference(first.at, shown), DifferingCount: first.differingCount, MicroSteps: first.found.microSteps}
	site := c.names.site(shown.Own().SiteID)
	op := c.names.op(site.OpID)
	benchOp := op
	if benchSite := c.names.site(shown.Bench.SiteID); benchSite.OpID != 0 {
		benchOp = c.names.op(benchSite.OpID)
	}
	if site.Role == "input" || site.Role == "kwarg" {
		o.Parameter = c.parameter(first, site.OpID)
	}
	var standing []string
	if with.Alignment != nil {
		standing = origin.StandingBefore(site.OpID, with.Alignment(first.at.ProblemProgram, first.at.BenchProgram), c.names.definitions)
	}
	switch {
	case !shown.Differs:
		o.Operation = op.Name + " only in " + sideOf(shown)
	case c.options.Implementations:
	case op.ClassOrAPI != benchOp.ClassOrAPI && len(standing) == 0:
		o.Operation = op.Name + " in problem, " + benchOp.Name + " in bench"
	default:
		if len(standing) == 0 {
			standing = first.found.givers
		}
		const most = 4
		o.Operation = strings.Join(standing[:min(most, len(standing))], ", ")
	}
	facts := origin.Facts{
		Differs: shown.Differs, Op: op, BenchOp: benchOp, Site: site, Problem: o.ProblemLayout, Bench: o.BenchLayout,
		Parameter: o.Parameter, BetweenCommon: o.Operation != "", FromOutside: first.found.fromOutside,
	}
	o.Kind = facts.Kind()
	o.Unseen = c.unseenBefore(first.at)
	o.AtOrBefore = o.Unseen != ""
	return o
}

// parameter is the path of a parameter of the module that called an op and that has the values of the row that is shown.
func (c *Collector) parameter(first *rankFirst, op uint64) string {
	call, found := c.names.call(first.at.ProblemProgram, op)
	if !found || call.ParentOpID == 0 {
		return ""
	}
	for _, id := range first.found.sameValued {
		if site := c.names.site(id); site.OpID == call.ParentOpID {
			return site.Path
		}
	}
	return ""
}
