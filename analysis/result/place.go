package result

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Placed is the result of one place. It is made without the collector's lock, and holds the verdicts of the
// place.
type Placed struct {
	at      pair.Step
	options *Options
	names   *names
	judged  []judge.Judged

	summary   StepSummary
	layers    layerSums
	unpaired  unpairedOps
	first     int            // row that differs first; -1 where none does
	alone     int            // first op of the problem alone in which NaN or infinity appears, or, if strict, of one run only; -1 where none is
	differing []judge.Judged // in order, as many as may be shown, without texts
	texts     []judge.Judged
	found     foundFirst
	wanted    wanted
	jumps     []candidate
}

// newPlace is a place nothing is counted of yet.
func newPlace(at pair.Step, c *Collector, judged []judge.Judged) *Placed {
	return &Placed{
		at: at, options: &c.options, names: c.names, judged: judged,
		summary: StepSummary{Rank: at.Rank, Step: at.Step, GreatestError: math.NaN()}, first: -1, alone: -1,
		layers: layerSums{}, unpaired: unpairedOps{},
	}
}

// count goes once through all pairs.
func (p *Placed) count() {
	p.markDetail()
	sights := p.names.sights()
	defer p.names.done(sights)
	layers, jumps := layerSight{sights: sights, sums: p.layers}, jumpSight{at: p.at}
	for i := range p.judged {
		j := &p.judged[i]
		p.summary.add(j)
		layers.add(i, j)
		jumps.add(j)
		if j.Class == judge.Unpaired || j.Class == judge.Unknown {
			p.unpaired.add(j, p.names)
			p.countBadAlone(j)
		}
		switch {
		case j.Differs:
			p.first = p.earlier(p.first, i)
		case p.isAlone(j):
			p.alone = p.earlier(p.alone, i)
		}
	}
	p.jumps = jumps.found
}

func (p *Placed) countBadAlone(j *judge.Judged) {
	switch {
	case !p.isBadAlone(j):
	case j.InProblem:
		p.summary.BadAloneCounts[0]++
	default:
		p.summary.BadAloneCounts[1]++
	}
}

// earlier is the row that comes first: by place in the rank's order, micro step and site. Few rows of the caller have
// the same place.
func (p *Placed) earlier(known, i int) int {
	if known < 0 {
		return i
	}
	a, b := p.judged[known].Own(), p.judged[i].Own()
	if cmp.Or(cmp.Compare(b.Seq, a.Seq), cmp.Compare(b.MicroStep, a.MicroStep), cmp.Compare(b.SiteID, a.SiteID)) < 0 {
		return i
	}
	return known
}

// isAlone says whether NaN or infinity appears where the bench has nothing to hold against it.
func (p *Placed) isAlone(j *judge.Judged) bool {
	if p.options.Strict && j.Class == judge.Unpaired {
		return true
	}
	return !j.Differs && j.InProblem && p.isBadAlone(j)
}

// isBadAlone says whether an op of one run only holds NaN or infinity that is no known exception.
func (p *Placed) isBadAlone(j *judge.Judged) bool {
	return !j.Paired() && worse(j.Own()) && (p.options.Excused == nil || !p.options.Excused(j.Own().SiteID))
}

// beginsAlone says whether nothing differs in the place, and still an op that stands alone makes it differ.
func (p *Placed) beginsAlone() bool {
	return p.options.Strict && p.first < 0 && p.alone >= 0
}

// worse says whether a tensor of the problem has values that nobody intends; -Inf may be a mask.
func worse(o *rows.Observation) bool {
	return o.NotFinite() > 0 || math.IsNaN(o.Min) || math.IsNaN(o.Max) || math.IsInf(o.Max, 1) && o.ElementCount > 0
}

// look reads more of a place that differs.
func (p *Placed) look() {
	p.summary.First = p.names.difference(p.at, &p.judged[p.first])
	for j := range p.allDiffering() {
		if len(p.differing) >= p.wanted.rows {
			break
		}
		p.keep(j)
	}
	if p.wanted.first {
		p.found = p.findFirst()
	}
}

// keep adds a row that differs, unless enough rows of this place are kept.
func (p *Placed) keep(j *judge.Judged) {
	into := &p.differing
	if p.isText(j) {
		into = &p.texts
	}
	if len(*into) < p.wanted.rows {
		*into = append(*into, *j)
	}
}

// isText says whether the argument of the problem is a text.
func (p *Placed) isText(j *judge.Judged) bool {
	if j.Problem.Measured != 0 {
		return false
	}
	layout := p.names.definitions.Layout(j.Problem.LayoutID)
	return layout != nil && layout.Kind == "str"
}

// allDiffering are the verdicts that make the runs differ, in order.
func (p *Placed) allDiffering() iter.Seq[*judge.Judged] {
	return func(yield func(*judge.Judged) bool) {
		for i := range p.judged {
			if p.judged[i].Differs && !yield(&p.judged[i]) {
				return
			}
		}
	}
}

// foundFirst has the facts about a place that the origin and the first difference of a rank need.
type foundFirst struct {
	first             judge.Judged
	alone             *judge.Judged
	errorIn, errorOut float64
	sameValued        []uint64 // sites of parameters that differ and have the very values of the row that is shown
	givers            []string // ops of one run only that returned an input of the op
	fromOutside       bool     // the input came from outside of the model
	microSteps        uint16   // of the step
}

// shown is the row that the origin is: an op that stands alone counts where something differs after it.
func (f *foundFirst) shown() *judge.Judged {
	if f.alone != nil && f.alone.Own().Seq < f.first.Own().Seq {
		return f.alone
	}
	return &f.first
}

func (p *Placed) findFirst() foundFirst {
	first := p.first
	if first < 0 {
		first = p.alone
	}
	found := foundFirst{first: p.judged[first]}
	if p.alone >= 0 {
		alone := p.judged[p.alone]
		found.alone = &alone
	}
	found.errorIn, found.errorOut = p.errorsOfOp(&found.first)
	found.sameValued = p.parametersLike(found.shown())
	found.microSteps = p.microSteps()
	found.givers, found.fromOutside = p.givers(found.shown()), p.fromOutside(found.shown())
	return found
}

// microSteps is the number of micro steps recorded of the step.
func (p *Placed) microSteps() uint16 {
	last := uint16(0)
	for i := range p.judged {
		last = max(last, p.judged[i].Own().MicroStep)
	}
	return last + 1
}

// errorsOfOp are the greatest errors of inputs and outputs of a row's op; NaN where none is known.
func (p *Placed) errorsOfOp(of *judge.Judged) (in, out float64) {
	in, out = math.NaN(), math.NaN()
	own := p.names.site(of.Own().SiteID).OpID
	sights := p.names.sights()
	defer p.names.done(sights)
	for i := range p.judged {
		j := &p.judged[i]
		if !j.InProblem || j.Problem.MicroStep != of.Own().MicroStep || math.IsNaN(errorOf(j)) {
			continue
		}
		switch {
		case sights.at(i, j.Problem.SiteID).op != own:
		case isGiven(p.names.site(j.Problem.SiteID)):
			out = greater(out, j.Error)
		default:
			in = greater(in, j.Error)
		}
	}
	return in, out
}

func isGiven(site schemas.SiteRow) bool {
	return site.Role == "output" || site.Role == "parameter_gradient"
}

// greater is the greater of two numbers; the first may be NaN.
func greater(most, v float64) float64 {
	if math.IsNaN(most) || v > most {
		return v
	}
	return most
}

// contentKey is equal for tensors of one run with the same layout and statistics.
type contentKey [5]uint64

func contentOf(j *judge.Judged) contentKey {
	o := &j.Problem
	return contentKey{o.LayoutID, math.Float64bits(o.Min), math.Float64bits(o.Max), math.Float64bits(o.Mean), math.Float64bits(o.L2)}
}

// parametersLike are the parameters that differ and have the values of a row.
func (p *Placed) parametersLike(shown *judge.Judged) []uint64 {
	var same []uint64
	wanted := contentOf(shown)
	for i := range p.judged {
		j := &p.judged[i]
		if j.Differs && contentOf(j) == wanted && p.names.site(j.Problem.SiteID).Role == "parameter" {
			same = append(same, j.Problem.SiteID)
		}
	}
	slices.Sort(same)
	return slices.Compact(same)
}
