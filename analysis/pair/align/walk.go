package align

// walk is one search for a middle: two frontiers that come towards each other, one difference at a time.
type walk struct {
	*search
	box
	up, down              int // the diagonals of the start and of the end
	aheadLow, aheadHigh   int
	behindLow, behindHigh int
}

// point is a position in both lists.
type point struct{ a, b int }

// forward takes one more difference from the start, and says where it met the way back.
func (w *walk) forward() (point, bool) {
	w.aheadLow, w.aheadHigh = w.widen(&w.ahead, w.aheadLow, w.aheadHigh, unreachedAhead)
	odd := (w.up-w.down)%2 != 0
	for d := w.aheadHigh; d >= w.aheadLow; d -= 2 {
		i := w.stepAhead(d)
		if i == unreachedAhead {
			w.ahead.set(d, i)
			continue
		}
		for i < w.a1 && i-d < w.b1 && w.a[i] == w.b[i-d] {
			i++
		}
		w.ahead.set(d, i)
		if odd && w.behindLow <= d && d <= w.behindHigh && w.behind.get(d) <= i {
			return point{i, i - d}, true
		}
	}
	return point{}, false
}

// stepAhead is the farthest of the two ways onto a diagonal: past one of a, or past one of b.
func (w *walk) stepAhead(d int) int {
	best := unreachedAhead
	if left := w.ahead.get(d - 1); left >= w.a0 && left < w.a1 {
		best = left + 1
	}
	if above := w.ahead.get(d + 1); above >= w.a0 && above-d <= w.b1 {
		best = max(best, above)
	}
	return best
}

// backward takes one more difference from the end, and says where it met the way there.
func (w *walk) backward() (point, bool) {
	w.behindLow, w.behindHigh = w.widen(&w.behind, w.behindLow, w.behindHigh, unreachedBehind)
	odd := (w.up-w.down)%2 != 0
	for d := w.behindHigh; d >= w.behindLow; d -= 2 {
		i := w.stepBehind(d)
		if i == unreachedBehind {
			w.behind.set(d, i)
			continue
		}
		for i > w.a0 && i-d > w.b0 && w.a[i-1] == w.b[i-d-1] {
			i--
		}
		w.behind.set(d, i)
		if !odd && w.aheadLow <= d && d <= w.aheadHigh && w.ahead.get(d) >= i {
			return point{i, i - d}, true
		}
	}
	return point{}, false
}

func (w *walk) stepBehind(d int) int {
	best := unreachedBehind
	if right := w.behind.get(d + 1); right <= w.a1 && right > w.a0 {
		best = right - 1
	}
	if below := w.behind.get(d - 1); below <= w.a1 && below-d >= w.b0 {
		best = min(best, below)
	}
	return best
}

// widen adds a diagonal at each end, or at the edge of the box takes one away, since every second is looked at.
func (w *walk) widen(f *frontier, low, high, unreached int) (int, int) {
	if low > w.a0-w.b1 {
		low--
		f.set(low-1, unreached)
	} else {
		low++
	}
	if high < w.a1-w.b0 {
		high++
		f.set(high+1, unreached)
	} else {
		high--
	}
	return low, high
}

// farthest is the point of either frontier that lies farthest from where it began.
func (w *walk) farthest() (int, int) {
	best, gain := point{}, -1
	for d := w.aheadHigh; d >= w.aheadLow; d -= 2 {
		if i := w.ahead.get(d); i >= w.a0 && i+i-d-w.a0-w.b0 > gain {
			best, gain = point{i, i - d}, i+i-d-w.a0-w.b0
		}
	}
	for d := w.behindHigh; d >= w.behindLow; d -= 2 {
		if i := w.behind.get(d); i <= w.a1 && w.a1+w.b1-i-i+d > gain {
			best, gain = point{i, i - d}, w.a1+w.b1-i-i+d
		}
	}
	return best.a, best.b
}
