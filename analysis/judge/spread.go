package judge

import (
	"math"
	"slices"

	"github.com/tensortap/tensortap/analysis/rows"
)

// Band is the spread of the bench runs at one site: the errors of all others against the first.
type Band struct {
	Runs      int // benches that were measured there, the first among them
	Mean      float64
	Deviation float64 // of the sample; NaN of one error
	Greatest  float64
}

// tolerated is the mean and three deviations, and no less than the greatest error: of many, some lie beyond three
// deviations, and a run does not differ from a set that holds its twin.
func (b Band) tolerated() float64 { return greater(b.Mean+float64(3*b.Deviation), b.Greatest) }

// zScore is the distance of an error from the mean, in deviations; NaN without a band.
func (b Band) zScore(err float64) float64 {
	if b.Runs < BandRuns {
		return math.NaN()
	}
	return (err - b.Mean) / b.Deviation
}

// Spread gathers how far bench runs lie apart. It is for one goroutine.
type Spread struct{ sites map[uint64]*moments }

// moments are count, mean, squared deviations and the greatest of errors, and the runs of these errors.
type moments struct {
	count    float64
	mean, m2 float64
	greatest float64
	runs     []uint64
}

// NewSpread is empty.
func NewSpread() *Spread { return &Spread{sites: map[uint64]*moments{}} }

// Add compares an observation of another bench run with the first bench's at the same site, rank and step.
func (s *Spread) Add(base, other *rows.Observation, otherRun uint64) {
	if !base.Has(boundingStatistics) || !other.Has(boundingStatistics) {
		return
	}
	spread := spreadError(base, other)
	if !isFinite(spread) {
		return
	}
	m := s.sites[base.SiteID]
	if m == nil {
		m = &moments{}
		s.sites[base.SiteID] = m
	}
	m.add(spread)
	if !slices.Contains(m.runs, otherRun) {
		m.runs = append(m.runs, otherRun)
	}
}

// spreadError is the greatest relative distance of statistics and sketches, NaN left out: benches are compared by the
// same evidence as a problem.
func spreadError(base, other *rows.Observation) float64 {
	extremes := greater(math.Abs(other.Max-base.Max), math.Abs(other.Min-base.Min))
	sums := greater(math.Abs(other.L2-base.L2), math.Abs(other.Mean-base.Mean)*math.Sqrt(float64(base.ElementCount)))
	bySketch := sketchOf(other.Sketch, base.Sketch, base.L2).error
	return greater(greater(extremes, sums)/base.L2, bySketch)
}

func (m *moments) add(x float64) {
	m.count++
	delta := x - m.mean
	m.mean += delta / m.count
	m.m2 += float64(delta * (x - m.mean))
	m.greatest = max(m.greatest, x)
}

// Bands are the bands by site of the bench. A band of fewer than three runs tolerates nothing.
func (s *Spread) Bands() map[uint64]Band {
	bands := make(map[uint64]Band, len(s.sites))
	for site, m := range s.sites {
		bands[site] = Band{Runs: len(m.runs) + 1, Mean: m.mean, Deviation: math.Sqrt(m.m2 / (m.count - 1)), Greatest: m.greatest}
	}
	return bands
}
