package judge

import "github.com/tensortap/tensortap/analysis/rows"

// compared is a pair with all the facts about it.
type compared struct {
	problem, bench *rows.Observation
	band           Band
	sort           string // of the exception that holds here; empty for none
	marked         bool   // of merged ranks, and neither a copy nor a shard: there is a mean without a norm, if anything
	sum            bool   // if marked, it is known to be the sum of what ranks hold
	structure      bool
	sameLiteral    bool // the same value by its layout alone, or no elements
	unreported     uint32
	finiteness     finiteness
	statistics     statistics
	sketch         sketch
	digest         digest
	payload        *Payload // nil for none
	tolerated      float64
}

func (r *Rules) compare(p *Pair, payload *Payload) compared {
	site := r.site(p.Problem.SiteID)
	band := r.config.Spread[p.Bench.SiteID]
	layouts := r.layoutPair(p.Problem.LayoutID, p.Bench.LayoutID)
	alike := layouts.alike || layouts.cast && r.isCast(p)
	marked := (p.Problem.Measured|p.Bench.Measured)&marks != 0
	scale := scaleOf(&p.Problem, &p.Bench, marked)
	c := compared{
		problem: &p.Problem, bench: &p.Bench, band: band, marked: marked, sum: marked && r.isSum(p),
		sort:        r.sortHere(site.sort),
		structure:   !alike && site.sort != SortIdentifier,
		sameLiteral: layouts.sameLiteral,
		unreported:  layouts.unreported,
		finiteness:  finitenessOf(&p.Problem, &p.Bench, site.sort),
		sketch:      sketchOf(p.Problem.Sketch, p.Bench.Sketch, scale),
		digest:      digestOf(&p.Problem, &p.Bench),
		payload:     told(payload),
		tolerated:   r.tolerated(p.Bench.SiteID, site, layouts),
	}
	c.statistics = statisticsOf(&p.Problem, &p.Bench, c.countedStatistics(), scale, layouts.sumRoundoff)
	return c
}

// sortHere is the sort of an exception where it holds: casts are excused between runs of different dtypes only.
func (r *Rules) sortHere(sort string) string {
	if sort == SortCast && !r.dtypesDiffer() {
		return ""
	}
	return sort
}

// oneSided says whether one run measured a statistic that the other could have measured, and did not.
func (c *compared) oneSided() bool {
	return (c.problem.Measured^c.bench.Measured)&boundingStatistics&^c.unreported != 0
}

// bySketch says whether the sketch decides: a proof by statistics is stronger than an estimate that does not see it.
func (c *compared) bySketch() bool {
	return c.sketch.both && !(c.statistics.low > c.tolerated && c.sketch.low <= c.tolerated)
}

// byStatistics says whether statistics prove a difference that the sketch, if there is one, does not see.
func (c *compared) byStatistics() bool {
	return c.statistics.low > c.tolerated && !c.bySketch()
}
