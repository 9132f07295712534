package result

import (
	"cmp"
	"slices"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
)

// Known is the result of a place that was judged before.
type Known struct {
	At      pair.Step
	Summary StepSummary   // without First
	First   *judge.Judged // the first difference: its place, site and verdict; nil where nothing differs
}

// Rows is the number of verdicts of the place that do not agree, or somewhat more.
func (k *Known) Rows() uint64 {
	s := &k.Summary
	return s.DifferingCount + s.SameNotFiniteCount + s.unjudged()
}

// unjudged is the number of tensors that one run has alone, or that cannot be judged.
func (s *StepSummary) unjudged() uint64 {
	return s.OnlyProblemCount + s.OnlyBenchCount + s.UnknownCount
}

// Again says which of the known places must be judged again, as the reports show more of them than Recall takes: those of
// the step whose layers are shown, the first of each rank that differs, and those that may hold a jump. All other places
// are collected already.
func (c *Collector) Again(known []Known) []bool {
	c.mu.Lock()
	summaries := slices.Clone(c.summary)
	c.mu.Unlock()
	for i := range known {
		summaries = append(summaries, known[i].Summary)
	}
	sortSummary(summaries)
	trails, again := map[uint32]*trail{}, map[[2]uint32]bool{}
	for i := range summaries {
		s := &summaries[i]
		if trails[s.Rank] == nil {
			trails[s.Rank] = &trail{}
		}
		again[[2]uint32{s.Rank, s.Step}] = trails[s.Rank].tells(s)
	}
	layers := layersStep(summaries)
	marked := make([]bool, len(known))
	for i := range known {
		s := &known[i].Summary
		marked[i] = c.options.Strict || s.Step == layers || again[[2]uint32{s.Rank, s.Step}]
	}
	return marked
}

// layersStep is the first step that differs; where none does, the first step. The summaries are sorted by step.
func layersStep(summaries []StepSummary) uint32 {
	for i := range summaries {
		if summaries[i].DifferingCount > 0 {
			return summaries[i].Step
		}
	}
	if len(summaries) == 0 {
		return 0
	}
	return summaries[0].Step
}

// trail is the history of a rank, step by step.
type trail struct {
	differs bool    // a step has differed
	ended   bool    // NaN or infinity has differed, beside which no later error is a jump
	noise   float64 // greatest error so far
}

// tells says whether a step may be the rank's first that differs, or hold a jump.
func (t *trail) tells(s *StepSummary) bool {
	if s.DifferingCount == 0 || t.ended {
		t.heed(s)
		return false
	}
	first := !t.differs
	t.differs, t.ended = true, s.NotFiniteCount > s.SameNotFiniteCount
	leaps := s.GreatestError > jumpOverNoise*t.noise
	t.heed(s)
	return first || t.ended || leaps
}

func (t *trail) heed(s *StepSummary) {
	if isFinite(s.GreatestError) {
		t.noise = max(t.noise, s.GreatestError)
	}
}

// Shows says whether reports may show verdicts of a known place, as far as earlier steps leave room for them.
func (c *Collector) Shows(k *Known) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return k.Summary.DifferingCount > 0 && c.differs.wants(k.At) || k.Summary.unjudged() > 0 && c.unpaired.wants(k.At)
}

// Recall collects a known place that need not be judged again. Its verdicts that do not agree are given where Shows asks
// for them. All places that were judged are collected already.
func (c *Collector) Recall(k *Known, judged []judge.Judged) {
	slices.SortFunc(judged, compareExecution)
	p := newPlace(k.At, c, judged)
	p.summary, p.wanted.rows = k.Summary, c.options.Limit
	if k.First != nil {
		p.summary.First = c.names.difference(k.At, k.First)
	}
	for i := range judged {
		if j := &judged[i]; j.Class == judge.Unpaired || j.Class == judge.Unknown {
			p.unpaired.add(j, c.names)
		}
	}
	for j := range p.allDiffering() {
		p.keep(j)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.recall(p)
}

func (c *Collector) recall(p *Placed) {
	c.summary = append(c.summary, p.summary)
	c.unpaired.take(p.at, p.unpaired, c.names)
	c.differs.take(p.at, p.differing)
	c.texts.take(p.at, p.texts)
	if rank := c.firsts[p.at.Rank]; rank != nil {
		rank.differingCount += p.summary.DifferingCount
	}
}

func compareExecution(a, b judge.Judged) int {
	x, y := a.Own(), b.Own()
	return cmp.Or(cmp.Compare(x.Seq, y.Seq), cmp.Compare(x.MicroStep, y.MicroStep), cmp.Compare(x.SiteID, y.SiteID))
}
