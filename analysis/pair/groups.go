package pair

import (
	"math"
	"slices"

	"github.com/tensortap/tensortap/analysis/rows"
)

// Group is the ranks of a run that hold parts of the same tensors.
type Group struct {
	Leader uint32   // the least rank
	Ranks  []uint32 // that ended a step, in order
	Size   uint32   // ranks of the group; a rank that died before its first step counts, too
	Known  bool     // whether the ranks' coordinates say so
}

// Groups are the tensor-parallel groups of a run, by leader. Ranks are in one group when they differ by their
// tensor-parallel coordinate alone. If an axis that would separate them is unknown, the first of each coordinate are
// one group, the second the next, and so on. A rank of unknown coordinate is alone.
func Groups(run *rows.Run) []Group { return groupsBy(run, alone) }

// WholeWorld is Groups, with all ranks of unknown coordinate in one group.
func WholeWorld(run *rows.Run) []Group { return groupsBy(run, together) }

func alone(rank uint32) int64 { return -1 - int64(rank) }
func together(uint32) int64   { return 0 }

// axes are a rank's coordinates, as far as they separate groups; all zero for a rank without a
// description.
type axes struct{ tp, size, pp, dp, cp int16 }

// groupKey is equal for the ranks of a group.
type groupKey struct {
	pp, dp, cp int16
	number     int64
}

func groupsBy(run *rows.Run, unknown func(rank uint32) int64) []Group {
	described := map[uint32]axes{}
	for i := range run.Ranks {
		r := &run.Ranks[i]
		described[r.Rank] = axes{tp: r.TP, size: max(r.TPSize, 0), pp: r.PP, dp: r.DP, cp: r.CP}
	}
	var groups []Group
	at := map[groupKey]int{}
	times := map[axes]int64{}
	for _, rank := range ended(run) {
		place := described[rank]
		key := groupKey{pp: place.pp, dp: place.dp, cp: place.cp, number: unknown(rank)}
		if place.size > 0 {
			times[place]++
			key.number = times[place]
		}
		i, ok := at[key]
		if !ok {
			i = len(groups)
			at[key] = i
			groups = append(groups, Group{Leader: rank, Known: place.size > 0})
		}
		groups[i].add(rank, place.size)
	}
	return groups
}

func (g *Group) add(rank uint32, size int16) {
	g.Ranks = append(g.Ranks, rank)
	g.Size = max(g.Size, uint32(len(g.Ranks)), uint32(size)) //nolint:gosec // of a world
}

// ended are the ranks that ended a step.
func ended(run *rows.Run) []uint32 {
	var ranks []uint32
	for i := range run.Steps {
		ranks = append(ranks, run.Steps[i].Rank)
	}
	slices.Sort(ranks)
	return slices.Compact(ranks)
}

// GroupSize is the size of the greatest tensor-parallel group of a run, and whether the ranks themselves say so. If
// not, it is the number of ranks that ended a step; whether they are one group is unknown.
func GroupSize(run *rows.Run) (size uint64, known bool) {
	known = true
	for _, g := range Groups(run) {
		size = max(size, uint64(g.Size))
		known = known && g.Known
	}
	if known && size > 0 {
		return size, true
	}
	size = uint64(max(len(ended(run)), 1))
	return size, size == 1
}

// splitFactors are those of two runs.
func splitFactors(problem, bench *rows.Run) int64 {
	p, _ := GroupSize(problem)
	b, _ := GroupSize(bench)
	return SplitFactors(p, b)
}

// SplitFactors is a number that holds, often enough for any size, every prime factor of the numbers of ranks in the
// groups of two runs; 1 where those are the same.
func SplitFactors(problem, bench uint64) int64 {
	if problem == bench {
		return 1
	}
	radical := radicalOf(problem * bench)
	power := radical
	for power <= math.MaxInt64/radical {
		power *= radical
	}
	return power
}

// radicalOf is the product of the prime factors of n.
func radicalOf(n uint64) int64 {
	radical := int64(1)
	for prime := uint64(2); n > 1; prime++ {
		if n%prime == 0 {
			radical *= int64(prime) //nolint:gosec // a number of ranks
		}
		for n%prime == 0 {
			n /= prime
		}
	}
	return radical
}
