package compare

import (
	"slices"
	"testing"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
)

// TestTheFirstFaultOfACalibrationIsTheSameInWhateverOrderPlacesCome: a tensor that has a fault at a later step has none before that,
// and one whose tolerance varies is held against its own.
func TestTheFirstFaultOfACalibrationIsTheSameInWhateverOrderPlacesCome(t *testing.T) {
	t.Parallel()
	at := func(step uint32, site uint64, differs, tolerance float64) judge.Judged {
		one := judge.Judged{Pair: judge.Pair{Step: step, InProblem: true, InBench: true}, Verdict: judge.Verdict{Class: judge.Diverged, Error: differs, Tolerance: tolerance}}
		one.Bench.SiteID, one.Bench.Measured = site, 1
		return one
	}
	places := [][]judge.Judged{{at(0, 1, 0.1, 0.1)}, {at(1, 2, 1, 0.1)}, {at(2, 1, 1, 0.1)}, {at(3, 2, 0.1, 1)}}
	for _, order := range [][]int{{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}} {
		c := &calibration{sites: map[uint64]*calibratedSite{}}
		for _, i := range order {
			if err := c.add(pair.Step{}, slices.Clone(places[i])); err != nil {
				t.Fatal(err)
			}
		}
		if !c.sites[1].faulty || !c.sites[2].faulty || c.first.Step != 1 || c.first.Bench.SiteID != 2 {
			t.Errorf("in the order %v the first fault is at step %d, site %d, of sites %+v and %+v", order, c.first.Step, c.first.Bench.SiteID, c.sites[1], c.sites[2])
		}
	}
}
