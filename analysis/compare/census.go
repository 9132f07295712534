package compare

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/mapping"
	"github.com/tensortap/tensortap/analysis/report"
)

// census counts how the tensors under a map of two implementations came to stand beside each other. Places may be counted
// at the same time.
type census struct {
	of *mapping.Source

	mutex sync.Mutex
	ways  map[mapping.Way]uint64
	apart map[string]uint64 // that cannot be compared, by reason
}

func newCensus(of *mapping.Source) *census {
	return &census{of: of, ways: map[mapping.Way]uint64{}, apart: map[string]uint64{}}
}

// count adds the pairs of a place.
func (c *census) count(judged []judge.Judged) {
	if c == nil {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for i := range judged {
		j := &judged[i]
		switch {
		case j.NotComparable():
			c.apart[strings.TrimPrefix(j.Reason, judge.ReasonNotComparable)]++
		case j.Paired() && j.Problem.Measured != 0 && j.Bench.Measured != 0:
			c.ways[c.of.Way(j.Problem.SiteID, j.Bench.SiteID)]++
		}
	}
}

// mapped is what was counted; nil without a map of two implementations.
func (c *census) mapped(rules *judge.Rules) *report.Mapped {
	if c == nil {
		return nil
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	said := &report.Mapped{
		Name: cmp.Or(c.of.Rules().Name, c.of.Rules().File), ByName: c.ways[mapping.ByName], Joined: c.ways[mapping.Joined], Streams: c.ways[mapping.Stream],
		Parts: c.of.JoinedParts(), NotComparable: []report.Apart{},
	}
	if noise, known := rules.Noise(); known {
		said.Noise = &report.Noise{Dtype: noise.Dtype, Layers: noise.Layers, Error: noise.Error}
	}
	for _, reason := range slices.Sorted(maps.Keys(c.apart)) {
		said.NotComparable = append(said.NotComparable, report.Apart{Reason: reason, Count: c.apart[reason]})
	}
	slices.SortStableFunc(said.NotComparable, func(a, b report.Apart) int { return cmp.Compare(b.Count, a.Count) })
	return said
}
