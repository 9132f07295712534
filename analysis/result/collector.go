package result

import (
	"sync"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/origin"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Collector keeps the parts of each place that the reports of a comparison need. Place may be called by several
// goroutines at the same time, and in any order of places: the result is the same.
type Collector struct {
	options Options
	names   *names

	mu       sync.Mutex
	summary  []StepSummary
	firsts   map[uint32]*rankFirst // by rank of the problem
	differs  *topDifferences       // other than texts
	texts    *topDifferences
	layers   *stepLayers
	jumps    map[rows.Place][]candidate
	unpaired *topUnpaired
}

// New collects the results of two runs. Definitions may grow until Place is called, and must not while it
// runs.
func New(options Options, problem, bench *rows.Run, definitions *rows.Definitions) *Collector {
	return &Collector{
		options: options, names: newNames(problem, bench, definitions),
		firsts: map[uint32]*rankFirst{}, differs: &topDifferences{limit: options.Limit}, texts: &topDifferences{limit: options.Limit},
		layers: newStepLayers(), jumps: map[rows.Place][]candidate{}, unpaired: &topUnpaired{limit: options.UnpairedLimit},
	}
}

// Place takes the verdicts of all pairs of one rank and step, in execution order: by seq, micro step, site. It keeps none
// of the slice.
func (c *Collector) Place(at pair.Step, judged []judge.Judged) { c.Add(c.Count(at, judged)) }

// Count goes once through the verdicts of a place, which it may change. Nothing of it is collected. It may be called as
// Place may.
func (c *Collector) Count(at pair.Step, judged []judge.Judged) *Placed {
	p := newPlace(at, c, judged)
	p.count()
	return p
}

// Add collects the result of a place. It keeps none of its verdicts.
func (c *Collector) Add(p *Placed) {
	switch {
	case p.summary.DifferingCount > 0:
		p.wanted = c.wants(p.at)
		p.look()
	case p.beginsAlone() && c.wants(p.at).first:
		p.found = p.findFirst()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.take(p)
}

// wanted says what a place that differs can still add.
type wanted struct {
	rows  int  // that may be shown
	first bool // its first difference may be the rank's first
}

func (c *Collector) wants(at pair.Step) wanted {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := wanted{first: true}
	if c.differs.wants(at) {
		w.rows = c.options.Limit
	}
	if rank := c.firsts[at.Rank]; rank != nil {
		w.first = at.Step <= rank.at.Step
	}
	return w
}

// take adds the result of a place.
func (c *Collector) take(p *Placed) {
	c.summary = append(c.summary, p.summary)
	c.layers.take(p.at.Step, p.layers)
	c.unpaired.take(p.at, p.unpaired, c.names)
	if p.summary.DifferingCount > 0 || p.beginsAlone() {
		c.takeFirst(p)
	}
	if p.summary.DifferingCount == 0 {
		return
	}
	c.layers.found(p.at.Step)
	c.jumps[rows.Place{Rank: p.at.Rank, Step: p.at.Step}] = p.jumps
	c.differs.take(p.at, p.differing)
	c.texts.take(p.at, p.texts)
}

// takeFirst adds a place in which a rank may begin to differ.
func (c *Collector) takeFirst(p *Placed) {
	rank := c.firsts[p.at.Rank]
	if rank == nil {
		rank = &rankFirst{}
		c.firsts[p.at.Rank] = rank
	}
	rank.take(p)
}

// Finishing has the input for the end of a comparison, beside the verdicts.
type Finishing struct {
	Meetings []origin.Meeting // of the problem's ranks in the step of OriginStep; none needed where it wants none
	// Alignment gives the alignment of two programs; nil where it has none.
	Alignment func(problem, bench uint64) []schemas.AlignmentRow
}

// OriginStep is the first step in which any rank differs, and whether its ranks' meetings are needed: more than one
// rank differs in it.
func (c *Collector) OriginStep() (step uint32, meetings bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	firsts := c.earliest()
	if len(firsts) == 0 {
		return 0, false
	}
	return firsts[0].at.Step, len(firsts) > 1
}

// Finish makes the rows of the reports. No Place may run at the same time.
func (c *Collector) Finish(with Finishing) Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	sortSummary(c.summary)
	return Result{
		Summary: c.summary, Divergence: c.divergence(), Origins: c.origins(with), Firsts: c.firstDifferences(),
		Jumps: c.findJumps(), Layers: c.layers.rows(), Unpaired: c.unpaired.named(c.names),
	}
}
