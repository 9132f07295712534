package payload

import "math"

// totals are the sums over the elements of two tensors, x of the problem and y of the bench.
type totals struct {
	single    bool // relative errors are computed in single precision
	sameBits  bool // so far
	mismatch  bool // some element is NaN, or infinite, on one side only
	otherSign bool // some element is infinite on both sides, with different signs

	xx, yy, xy, dd sum // of scaled values
	maxX, maxY     float64
	maxD           float64 // of the differences
	maxRelative    float64
	unmasked       *float64 // difference of a single element that is not finite
	count          int64
	below1, below5 int64 // elements with a relative error below 0.001 and 0.005
}

// scales are powers of two that keep the squares of x, y and their difference inside the range of float64.
type scales struct{ x, y, d float64 }

// scaleOf is 1 unless the squares of such numbers are lost.
func scaleOf(greatest float64) float64 {
	const large, most = 1e150, 1000
	if greatest == 0 || math.IsInf(greatest, 0) || math.IsNaN(greatest) || (greatest < large && greatest > 1/large) {
		return 1
	}
	return math.Ldexp(1, min(-math.Ilogb(greatest), most))
}

// norm is the root of a sum of squares of scaled values.
func (t *totals) norm(s sum, scale float64) float64 { return math.Sqrt(s.value()) / scale }

func (s *scan) relativeL2() float64 {
	switch {
	case s.maxD == 0:
		return 0
	case s.maxY == 0 || math.IsInf(s.maxD, 0):
		return math.Inf(1)
	}
	return math.Sqrt(s.dd.value()) / math.Sqrt(s.yy.value()) * (s.scales.y / s.scales.d)
}

// sum adds float64 with compensation, so that its error does not grow with the count.
type sum struct{ total, lost float64 }

func (s *sum) add(v float64) {
	t := s.total + v
	if math.Abs(s.total) >= math.Abs(v) {
		s.lost += s.total - t + v
	} else {
		s.lost += v - t + s.total
	}
	s.total = t
}

func (s *sum) value() float64 {
	if math.IsInf(s.total, 0) {
		return s.total // the lost part is NaN then
	}
	return s.total + s.lost
}

// blockElements are added up plainly, which costs less than 2⁻⁴⁴ of the sum, before they go into a compensated sum.
const blockElements = 256

// add adds a piece. It overwrites elements that are not finite.
func (t *totals) add(x, y []float64, s scales) {
	if !finite(x) || !finite(y) {
		t.clear(x, y)
	}
	if t.mismatch {
		return
	}
	t.count += int64(len(x))
	t.relative(x, y)
	for len(x) > 0 {
		n := min(len(x), blockElements)
		t.block(x[:n], y[:n], s)
		x, y = x[n:], y[n:]
	}
}

// finite says whether no element is NaN or infinite: such an element times zero is NaN, and so is a sum
// with it.
func finite(values []float64) bool {
	var a, b, c, d float64 // four independent sums
	for len(values) >= 4 {
		a, b, c, d = a+values[0]*0, b+values[1]*0, c+values[2]*0, d+values[3]*0
		values = values[4:]
	}
	for _, v := range values {
		a += v * 0
	}
	return a+b+c+d == 0
}

// clear makes zeros of elements that are not finite on both sides in the same way.
func (t *totals) clear(x, y []float64) {
	for i, v := range x {
		w := y[i]
		if math.IsNaN(v) != math.IsNaN(w) || math.IsInf(v, 0) != math.IsInf(w, 0) {
			t.mismatch = true
			return
		}
		if v-v != 0 {
			t.otherSign = t.otherSign || (math.IsInf(v, 0) && v != w)
			x[i], y[i] = 0, 0
		}
	}
}

// block adds a few elements, which are finite.
func (t *totals) block(x, y []float64, s scales) {
	var xx, yy, xy, dd float64
	maxX, maxY, maxD := t.maxX, t.maxY, t.maxD
	y = y[:len(x)]
	for i, v := range x {
		w := y[i]
		d := v - w
		if a := math.Abs(v); a > maxX {
			maxX = a
		}
		if a := math.Abs(w); a > maxY {
			maxY = a
		}
		if a := math.Abs(d); a > maxD {
			maxD = a
		}
		v, w, d = v*s.x, w*s.y, d*s.d
		xx, yy, xy, dd = xx+v*v, yy+w*w, xy+v*w, dd+d*d
	}
	t.maxX, t.maxY, t.maxD = maxX, maxY, maxD
	t.xx.add(xx)
	t.yy.add(yy)
	t.xy.add(xy)
	t.dd.add(dd)
}

// addSame adds a piece that is the same on both sides.
func (s *scan) addSame(values []float64) {
	if !finite(values) {
		if s.bench.Count == 1 {
			s.notFinite(values, values)
			return
		}
		s.clear(values, values)
	}
	n := int64(len(values))
	s.count, s.below1, s.below5 = s.count+n, s.below1+n, s.below5+n
	for len(values) > 0 {
		n := min(len(values), blockElements)
		s.blockSame(values[:n])
		values = values[n:]
	}
}

func (s *scan) blockSame(values []float64) {
	var squares float64
	greatest := s.maxY
	for _, v := range values {
		greatest = max(greatest, math.Abs(v))
		v *= s.scales.y
		squares += v * v
	}
	s.maxX, s.maxY = max(s.maxX, greatest), greatest
	s.xx.add(squares)
	s.yy.add(squares)
	s.xy.add(squares)
}

// notFinite compares the parts of a single element as they are, which msProbe does too.
func (s *scan) notFinite(x, y []float64) {
	s.count = int64(len(x))
	absolute, relative := 0.0, 0.0
	for i, v := range x {
		absolute = max(absolute, math.Abs(v-y[i]))
		relative = max(relative, math.Abs((v-y[i])/y[i]))
	}
	s.clear(x, y)
	if !s.mismatch {
		for i := range x {
			s.block(x[i:i+1], y[i:i+1], s.scales)
		}
	}
	s.unmasked, s.maxRelative = &absolute, relative
}

// relative counts the elements by their relative errors.
func (t *totals) relative(x, y []float64) {
	if t.single {
		greatest, below1, below5 := relativeErrors[float32](x, y, 0x1p-23)
		t.maxRelative = max(t.maxRelative, float64(greatest))
		t.below1, t.below5 = t.below1+below1, t.below5+below5
		return
	}
	greatest, below1, below5 := relativeErrors[float64](x, y, 0x1p-52)
	t.maxRelative = max(t.maxRelative, greatest)
	t.below1, t.below5 = t.below1+below1, t.below5+below5
}

// relativeErrors computes |x-y|/|y| in a precision, as msProbe: where y is zero, epsilon is added to both.
func relativeErrors[F float32 | float64](x, y []float64, epsilon F) (greatest F, below1, below5 int64) {
	y = y[:len(x)]
	for i, v := range x {
		a, b := F(v), F(y[i])
		if b == 0 {
			a, b = a+epsilon, epsilon
		}
		e := F(math.Abs(float64((a - b) / b)))
		if e > greatest {
			greatest = e
		}
		below1, below5 = below1+ones(e < 0.001), below5+ones(e < 0.005)
	}
	return greatest, below1, below5
}

// ones is a condition as a number, without a branch.
func ones(condition bool) int64 { //nolint:revive // that is what it is for
	var n int64
	if condition {
		n = 1
	}
	return n
}
