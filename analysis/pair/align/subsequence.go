package align

import "math"

// costLimit is the greatest number of differences searched, from each end, before a part is cut at
// the farthest point. Up to twice as many differences the subsequence is a longest one; beyond,
// time stays in proportion to the length.
const costLimit = 256

// commonSubsequence is, for each of a, the position of its partner in b, or none:
// a longest subsequence that both have in common. It takes memory in proportion
// to the lengths, and time to the lengths and the number of differences.
func commonSubsequence(a, b []uint32) []int32 {
	matched := make([]int32, len(a))
	for i := range matched {
		matched[i] = none
	}
	from, to := 0, 0 // as many are equal at the start and at the end
	for from < min(len(a), len(b)) && a[from] == b[from] {
		matched[from] = int32(from) //nolint:gosec // an index
		from++
	}
	for to < min(len(a), len(b))-from && a[len(a)-1-to] == b[len(b)-1-to] {
		to++
		matched[len(a)-to] = int32(len(b) - to) //nolint:gosec // an index
	}
	if from+to < min(len(a), len(b)) {
		between(a[from:len(a)-to], b[from:len(b)-to], func(i, j int32) { matched[int32(from)+i] = int32(from) + j }) //nolint:gosec // an index
	}
	return matched
}

// between finds the matches where neither the first nor the last of both are equal.
func between(a, b []uint32, found func(i, j int32)) {
	fromA, fromB := shared(a, b), shared(b, a)
	s := search{a: pick(a, fromA), b: pick(b, fromB)}
	s.found = func(i, j int) { found(fromA[i], fromB[j]) }
	s.compare(box{0, len(s.a), 0, len(s.b)})
}

// shared are the positions of values that the other side has, too; no other value can be matched.
func shared(a, b []uint32) []int32 {
	has := make(map[uint32]bool, min(len(b), 1<<10))
	for _, v := range b {
		has[v] = true
	}
	positions := make([]int32, 0, len(a))
	for i, v := range a {
		if has[v] {
			positions = append(positions, int32(i)) //nolint:gosec // an index
		}
	}
	return positions
}

func pick(list []uint32, positions []int32) []uint32 {
	picked := make([]uint32, len(positions))
	for i, p := range positions {
		picked[i] = list[p]
	}
	return picked
}

// search is Myers' divide and conquer: it looks for the middle of a shortest edit
// script from both ends at once, and then into both halves.
type search struct {
	a, b     []uint32
	found    func(i, j int)
	ahead    frontier // how far down each diagonal a script from the start comes
	behind   frontier // how far up each diagonal one from the end comes
	prepared bool
}

// box is a part of a beside a part of b.
type box struct{ a0, a1, b0, b1 int }

// frontier holds a position in a by diagonal, which is the position in a less that in b.
type frontier struct {
	at     []int32
	offset int
}

func (f *frontier) get(diagonal int) int      { return int(f.at[diagonal+f.offset]) }
func (f *frontier) set(diagonal, reached int) { f.at[diagonal+f.offset] = int32(reached) } //nolint:gosec // an index

// compare matches inside the box.
func (s *search) compare(x box) {
	for {
		for x.a0 < x.a1 && x.b0 < x.b1 && s.a[x.a0] == s.b[x.b0] {
			s.found(x.a0, x.b0)
			x.a0, x.b0 = x.a0+1, x.b0+1
		}
		for x.a0 < x.a1 && x.b0 < x.b1 && s.a[x.a1-1] == s.b[x.b1-1] {
			x.a1, x.b1 = x.a1-1, x.b1-1
			s.found(x.a1, x.b1)
		}
		if x.a0 == x.a1 || x.b0 == x.b1 {
			return
		}
		i, j := s.split(x)
		s.compare(box{x.a0, i, x.b0, j})
		x.a0, x.b0 = i, j
	}
}

// unreached are frontiers that no script has come to.
const (
	unreachedAhead  = math.MinInt32 / 2
	unreachedBehind = math.MaxInt32 / 2
)

// split is a point inside the box that a shortest script passes, or a far one where that costs too much.
// The first and the last of both parts differ, so it is no corner that would leave the box whole.
func (s *search) split(x box) (int, int) {
	s.prepare()
	w := walk{search: s, box: x, up: x.a0 - x.b0, down: x.a1 - x.b1}
	w.aheadLow, w.aheadHigh, w.behindLow, w.behindHigh = w.up, w.up, w.down, w.down
	s.ahead.set(w.up, x.a0)
	s.behind.set(w.down, x.a1)
	for range costLimit {
		if i, met := w.forward(); met {
			return i.a, i.b
		}
		if i, met := w.backward(); met {
			return i.a, i.b
		}
	}
	return w.farthest()
}

// prepare makes the frontiers once, for the largest box.
func (s *search) prepare() {
	if s.prepared {
		return
	}
	size := len(s.a) + len(s.b) + 3
	s.ahead = frontier{make([]int32, size), len(s.b) + 1}
	s.behind = frontier{make([]int32, size), len(s.b) + 1}
	s.prepared = true
}
