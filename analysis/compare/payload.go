package compare

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// PayloadPlace is a pair of raw tensors; rank and step are the problem's.
type PayloadPlace struct {
	Rank, Step             uint32
	ProblemSite, BenchSite uint64
}

// PayloadPair is two raw tensors that are to be compared.
type PayloadPair struct {
	PayloadPlace
	BenchRank, BenchStep uint32
	Locations            [2]string // of problem and bench, as they were recorded
}

// Heed has pairs judged by what their raw tensors said, too.
func (j *Job) Heed(payloads map[PayloadPlace]judge.Payload) { j.request.Payloads = payloads }

// PayloadPairs are the raw tensors of both runs that stand beside each other, by rank, step and sites, given all that each
// run kept. Where the partner has another name, the bench's tensor of the same name is there too: msProbe compares that
// one.
func (j *Job) PayloadPairs(ctx context.Context, problem, bench []schemas.PayloadRow) ([]PayloadPair, error) {
	kept := [2]map[rows.Place]locations{locationsOf(problem), locationsOf(bench)}
	var both []pair.Step
	var pairs []PayloadPair
	for _, at := range j.steps {
		left, right := kept[0][rows.Place{Rank: at.Rank, Step: at.Step}], kept[1][rows.Place{Rank: at.BenchRank, Step: at.BenchStep}]
		if at.InProblem && at.InBench && len(left) > 0 && len(right) > 0 {
			both = append(both, at)
			pairs = append(pairs, sameName(at, left, right)...)
		}
	}
	var mutex sync.Mutex
	err := j.Judge(ctx, both, func(at pair.Step, judged []judge.Judged) error {
		left, right := kept[0][rows.Place{Rank: at.Rank, Step: at.Step}], kept[1][rows.Place{Rank: at.BenchRank, Step: at.BenchStep}]
		moved := otherName(at, judged, left, right)
		mutex.Lock()
		defer mutex.Unlock()
		pairs = append(pairs, moved...)
		return nil
	})
	slices.SortFunc(pairs, byPlace)
	return slices.Compact(pairs), err
}

func byPlace(a, b PayloadPair) int {
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Step, b.Step),
		cmp.Compare(a.ProblemSite, b.ProblemSite), cmp.Compare(a.BenchSite, b.BenchSite))
}

// locations are where the raw tensors of a place lie, by site.
type locations map[uint64]string

// locationsOf takes, of several raw tensors of one site and place, the one whose location is the least.
func locationsOf(payloads []schemas.PayloadRow) map[rows.Place]locations {
	found := map[rows.Place]locations{}
	for i := range payloads {
		p := &payloads[i]
		at := rows.Place{Rank: p.Rank, Step: p.Step}
		if found[at] == nil {
			found[at] = locations{}
		}
		if known, ok := found[at][p.SiteID]; !ok || p.Location < known {
			found[at][p.SiteID] = p.Location
		}
	}
	return found
}

// sameName pairs the raw tensors of one site.
func sameName(at pair.Step, problem, bench locations) (pairs []PayloadPair) {
	for site, location := range problem {
		if other, ok := bench[site]; ok {
			pairs = append(pairs, payloadPair(at, site, site, location, other))
		}
	}
	return pairs
}

// otherName pairs the raw tensors of tensors that stand beside each other under two names.
func otherName(at pair.Step, judged []judge.Judged, problem, bench locations) (pairs []PayloadPair) {
	for i := range judged {
		p := &judged[i].Pair
		if !p.InProblem || !p.InBench || p.Problem.SiteID == p.Bench.SiteID {
			continue
		}
		left, ofProblem := problem[p.Problem.SiteID]
		right, ofBench := bench[p.Bench.SiteID]
		if ofProblem && ofBench {
			pairs = append(pairs, payloadPair(at, p.Problem.SiteID, p.Bench.SiteID, left, right))
		}
	}
	return pairs
}

func payloadPair(at pair.Step, problemSite, benchSite uint64, problem, bench string) PayloadPair {
	return PayloadPair{
		PayloadPlace: PayloadPlace{Rank: at.Rank, Step: at.Step, ProblemSite: problemSite, BenchSite: benchSite},
		BenchRank:    at.BenchRank, BenchStep: at.BenchStep, Locations: [2]string{problem, bench},
	}
}
