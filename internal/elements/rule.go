package elements

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// explained is the share of the sample that a rule must hold for.
const explained = 0.95

// rule is how the problem's elements that differ come from the bench's, where a rule was found.
func (w *walk) rule(ctx context.Context) string {
	w.Sampled = len(w.sample.kept)
	for _, found := range []func() string{w.constant, w.scaled, w.moved, w.offset} {
		if text := found(); text != "" {
			return text
		}
	}
	return w.permuted(ctx)
}

// holds is the share of a sample for which something is true; 0 of too small a sample.
func holds(of []sampledPair, is func(sampledPair) bool) float64 {
	const least = 2
	if len(of) < least {
		return 0
	}
	count := 0
	for _, one := range of {
		if is(one) {
			count++
		}
	}
	return float64(count) / float64(len(of))
}

// near says whether two elements are the same but for rounding.
func (w *walk) near(x, y []float64) bool {
	return equalParts(x, y) || apartOf(x, y) <= w.Within*w.size(x, y)
}

// constant finds elements that all have one value in the problem.
func (w *walk) constant() string {
	kept := w.sample.kept
	value := kept[0].x
	if len(kept) < 2 || holds(kept, func(p sampledPair) bool { return equalParts(p.x, value) }) < explained {
		return ""
	}
	if same := holds(kept, func(p sampledPair) bool { return equalParts(p.y, kept[0].y) }); same >= explained {
		return "" // so do the bench's, which says nothing
	}
	if valueOf(value) == 0 {
		return "the problem is zero there"
	}
	return fmt.Sprintf("the problem is %.6g there", valueOf(value))
}

// scaled finds a factor: the median of the quotients.
func (w *walk) scaled() string {
	var quotients []float64
	for _, p := range w.sample.kept {
		if len(p.x) == 1 && len(p.y) == 1 && p.y[0] != 0 && kindOf(p.x[0]) == Kinds && kindOf(p.y[0]) == Kinds {
			quotients = append(quotients, p.x[0]/p.y[0])
		}
	}
	if len(quotients) < 2 {
		return ""
	}
	slices.Sort(quotients)
	factor := quotients[len(quotients)/2]
	tight := max(w.Within/16, 0x1p-20) // not relative to all: a factor holds for small elements, too
	fits := holds(w.sample.kept, func(p sampledPair) bool {
		if len(p.x) != 1 || len(p.y) != 1 {
			return false
		}
		want := factor * p.y[0]
		return math.Abs(p.x[0]-want) <= 2*tight*math.Abs(want)+math.SmallestNonzeroFloat32
	})
	switch {
	case fits < explained:
		return ""
	case math.Abs(factor+1) <= tight:
		return "the sign is turned: problem = -bench"
	}
	return fmt.Sprintf("scaled: problem = %.6g × bench", factor)
}

// offset finds a number that was added.
func (w *walk) offset() string {
	var apart []float64
	for _, p := range w.sample.kept {
		if len(p.x) == 1 && len(p.y) == 1 {
			apart = append(apart, p.x[0]-p.y[0])
		}
	}
	if len(apart) < 2 {
		return ""
	}
	slices.Sort(apart)
	added := apart[len(apart)/2]
	fits := holds(w.sample.kept, func(p sampledPair) bool {
		want := p.y[0] + added
		return len(p.x) == 1 && math.Abs(p.x[0]-want) <= max(w.Within, 0x1p-20)/2*max(math.Abs(added), math.Abs(p.y[0]))
	})
	if fits < explained {
		return ""
	}
	return fmt.Sprintf("offset: problem = bench + %.6g", added)
}
