package align

// settle moves stretches without a partner to where more neighbours are paired with
// neighbours or arguments are equal, and else where more ids are equal. That changes nothing of how long the
// subsequence is: of two equal calls one stands alone, and their place says which.
func settle(a, b []uint32, matched []int32, like likeness) {
	settleOne(a, matched, like)
	back := invert(matched, len(b))
	settleOne(b, back, func(j, i int32) int { return like(i, j) })
	copy(matched, invert(back, len(a)))
}

// likeness says how alike two equal calls are beyond that: likeExact and likeID, or their sum.
type likeness func(i, j int32) int

// Equal arguments count more than neighbours on both sides, and those more than an equal id.
const (
	likeExact     = 8
	likeNeighbour = 2
	likeID        = 1
)

func invert(matched []int32, n int) []int32 {
	back := make([]int32, n)
	for j := range back {
		back[j] = none
	}
	for i, j := range matched {
		if j != none {
			back[j] = int32(i) //nolint:gosec // an index
		}
	}
	return back
}

// settleOne looks at one stretch after the other.
func settleOne(a []uint32, matched []int32, like likeness) {
	for from := 0; from < len(a); from++ {
		if matched[from] != none {
			continue
		}
		to := from + 1
		for to < len(a) && matched[to] == none {
			to++
		}
		s := stretch{a: a, matched: matched, from: from, to: to, like: like}
		s.settle()
		from = max(to, s.to) - 1
	}
}

// stretch is a run of ops without partner, up to but without a position.
type stretch struct {
	a        []uint32
	matched  []int32
	from, to int
	like     likeness
}

// settle goes as far up and then as far down as it can, and back to where it fits best.
func (s *stretch) settle() {
	here := s.from
	best, gain, most := here, 0, 0
	for s.canRise() {
		gain += s.rise()
		if gain > most {
			best, most = s.from, gain
		}
	}
	for s.from < here {
		gain += s.sink()
	}
	for s.canSink() {
		gain += s.sink()
		if gain > most {
			best, most = s.from, gain
		}
	}
	for s.from > best {
		s.rise()
	}
	for s.from < best {
		s.sink()
	}
}

func (s *stretch) canRise() bool {
	return s.from > 0 && s.matched[s.from-1] != none && s.a[s.from-1] == s.a[s.to-1]
}

func (s *stretch) canSink() bool {
	return s.to < len(s.a) && s.matched[s.to] != none && s.a[s.to] == s.a[s.from]
}

// rise gives the partner of the op above to the last of the stretch, and says how much better that fits.
func (s *stretch) rise() int {
	gain := s.hand(s.from-1, s.to-1)
	s.from, s.to = s.from-1, s.to-1
	return gain
}

// sink gives the partner of the op below to the first of the stretch.
func (s *stretch) sink() int {
	gain := s.hand(s.to, s.from)
	s.from, s.to = s.from+1, s.to+1
	return gain
}

func (s *stretch) hand(giver, taker int) int {
	j := s.matched[giver]
	before := s.fit(giver, j)
	s.matched[giver], s.matched[taker] = none, j
	return s.fit(taker, j) - before
}

// fit is the quality of a pair.
func (s *stretch) fit(i int, j int32) int {
	fit := s.like(int32(i), j) //nolint:gosec // an index
	if i > 0 && j > 0 && s.matched[i-1] == j-1 {
		fit += likeNeighbour
	}
	if i+1 < len(s.a) && s.matched[i+1] == j+1 {
		fit += likeNeighbour
	}
	return fit
}
