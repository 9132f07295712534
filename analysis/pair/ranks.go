package pair

import (
	"cmp"
	"maps"
	"slices"

	"github.com/tensortap/tensortap/analysis/rows"
)

// Reasons why two ranks are partners.
const (
	ByNumber      = "number"
	ByCoordinates = "coordinates"
	ByReplica     = "replica" // the same coordinates, except in the data-parallel group
)

// PairRanks gives the bench's rank for each rank of the problem. A rank without partner is absent; one of several
// replicas may be a partner twice. Ranks pair by their coordinates where both runs know them, else by number. Where
// the data-parallel groups have different sizes, a rank pairs with a replica: its own coordinate modulo the smaller
// size.
func PairRanks(problem, bench *rows.Run) []Ranks { //nolint:revive // Ranks is what it makes
	p, b := placesOf(problem), placesOf(bench)
	forgetUncommon(p, b)
	keys := rankKeys{known: p.distinct() && b.distinct(), replicas: max(1, min(p.replicas, b.replicas))}
	partners := b.byKey(keys)
	var pairs []Ranks
	for _, rank := range p.ranks() {
		at := p.coordinates[rank]
		if partner, ok := partners[keys.of(rank, at)]; ok {
			pairs = append(pairs, Ranks{Problem: rank, Bench: partner, Reason: keys.reason(at, b.coordinates[partner])})
		}
	}
	return pairs
}

// coordinates are a rank's places in the groups tp, pp, dp, cp, ep; -1 where not known.
type coordinates [5]int16

const dataParallel = 2 // the position of dp

func unknownCoordinates() coordinates { return coordinates{-1, -1, -1, -1, -1} }

func (c coordinates) compare(other coordinates) int { return slices.Compare(c[:], other[:]) }

// rankKey is equal for partners: coordinates, or a number.
type rankKey struct {
	coordinates
	number uint32
}

// rankKeys makes keys of ranks.
type rankKeys struct {
	known    bool  // the coordinates of all ranks of both runs
	replicas int16 // size of the smaller data-parallel group
}

func (k rankKeys) of(rank uint32, at coordinates) rankKey {
	if !k.known {
		return rankKey{number: rank}
	}
	if at[dataParallel] >= 0 {
		at[dataParallel] %= k.replicas
	}
	return rankKey{coordinates: at}
}

func (k rankKeys) reason(problem, bench coordinates) string {
	switch {
	case !k.known:
		return ByNumber
	case problem == bench:
		return ByCoordinates
	}
	return ByReplica
}

// world has the ranks of a run and their coordinates: ranks with a description, and ranks that
// ended a step.
type world struct {
	coordinates map[uint32]coordinates
	replicas    int16 // size of the data-parallel group; -1 where not known
}

func placesOf(run *rows.Run) world {
	w := world{coordinates: map[uint32]coordinates{}, replicas: -1}
	for i := range run.Steps {
		w.coordinates[run.Steps[i].Rank] = unknownCoordinates()
	}
	for i := range run.Ranks {
		r := &run.Ranks[i]
		w.coordinates[r.Rank] = coordinates{r.TP, r.PP, r.DP, r.CP, r.EP}
		w.replicas = max(w.replicas, r.DPSize)
	}
	return w
}

// forgetUncommon leaves the groups out that not all ranks of both runs know, unless ranks then share their places: one engine says
// that it has no replicas, another says nothing of them.
func forgetUncommon(worlds ...world) {
	var known coordinates
	for _, w := range worlds {
		for _, at := range w.coordinates {
			for group := range at {
				known[group] = min(known[group], at[group])
			}
		}
	}
	left := make([]world, len(worlds))
	for i, w := range worlds {
		left[i] = w.without(known)
	}
	if slices.ContainsFunc(left, func(w world) bool { return !w.distinct() }) {
		return
	}
	for i, w := range worlds {
		maps.Copy(w.coordinates, left[i].coordinates)
	}
}

// without has -1 where it is known of a group that it is not known of all.
func (w world) without(known coordinates) world {
	left := world{coordinates: map[uint32]coordinates{}, replicas: w.replicas}
	for rank, at := range w.coordinates {
		for group := range at {
			if known[group] < 0 {
				at[group] = -1
			}
		}
		left.coordinates[rank] = at
	}
	return left
}

func (w world) ranks() []uint32 {
	ranks := make([]uint32, 0, len(w.coordinates))
	for rank := range w.coordinates {
		ranks = append(ranks, rank)
	}
	slices.Sort(ranks)
	return ranks
}

// distinct says whether the coordinates of all ranks are known and no two have the same.
func (w world) distinct() bool {
	seen := map[coordinates]bool{unknownCoordinates(): true}
	for _, c := range w.coordinates {
		if seen[c] {
			return false
		}
		seen[c] = true
	}
	return true
}

// byKey is a rank of each key: of several replicas the one of least coordinates.
func (w world) byKey(keys rankKeys) map[rankKey]uint32 {
	ranks := w.ranks()
	slices.SortStableFunc(ranks, func(a, b uint32) int {
		return cmp.Or(w.coordinates[a].compare(w.coordinates[b]), cmp.Compare(a, b))
	})
	first := map[rankKey]uint32{}
	for _, rank := range ranks {
		key := keys.of(rank, w.coordinates[rank])
		if _, taken := first[key]; !taken {
			first[key] = rank
		}
	}
	return first
}
