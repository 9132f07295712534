package payload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/tensortap/tensortap/internal/torchfile"
)

// Statistics are the statistics of the elements of one tensor, as the collector defines them: moments and extremes
// cover the finite elements, and are 0 when there are none. For complex elements they cover the magnitudes.
type Statistics struct {
	Count, Finite                           uint64
	NaN, PositiveInfinity, NegativeInfinity uint64
	Zero, Subnormal                         uint64

	Min, Max, Mean, L1 float64
	M2                 float64 // sum of squared deviations from the mean
	Digest             uint64  // of the elements' bytes in their order
}

// L2 is the square root of the sum of squares.
func (s *Statistics) L2() float64 { return math.Sqrt(s.M2 + float64(s.Finite)*s.Mean*s.Mean) }

// pageElements are taken together; the digest is defined by them.
const pageElements = 1024

// Measure reads all elements of a tensor once.
func Measure(ctx context.Context, t *torchfile.Tensor) (Statistics, error) {
	s, err := newSide(t)
	if err != nil {
		return Statistics{}, err
	}
	m := measuring{side: s, normal: leastNormal(t.Dtype), single: single(t.Dtype) || t.Dtype == torchfile.Complex64}
	for ctx.Err() == nil {
		if err := s.next(); errors.Is(err, io.EOF) {
			m.total.Digest = m.digest.of(uint64(t.Count) * uint64(s.size)) //nolint:gosec // never negative
			return m.total, nil
		} else if err != nil {
			return Statistics{}, fmt.Errorf("read elements: %w", err)
		}
		m.piece()
	}
	return Statistics{}, context.Cause(ctx)
}

// measuring is one pass over a tensor.
type measuring struct {
	side   *side
	normal float64 // the least normal number of the dtype
	single bool    // magnitudes of complex elements have single precision
	digest digest
	total  Statistics
}

// piece takes in the elements that were read last. All pieces but the last are whole pages.
func (m *measuring) piece() {
	m.side.decode()
	values, raw := m.side.values, m.side.raw
	if m.side.parts == 2 {
		values = m.magnitudes(values)
	}
	for len(values) > 0 {
		n := min(len(values), pageElements)
		m.digest.page(raw[:int64(n)*m.side.size])
		page := m.page(values[:n])
		m.total.merge(&page)
		values, raw = values[n:], raw[int64(n)*m.side.size:]
	}
}

// magnitudes replaces pairs of parts. NaN in one is NaN, even beside infinity.
func (m *measuring) magnitudes(parts []float64) []float64 {
	values := parts[:len(parts)/2]
	for i := range values {
		real, imaginary := parts[2*i], parts[2*i+1]
		values[i] = math.Hypot(real, imaginary)
		if m.single {
			values[i] = float64(float32(values[i]))
		}
		if math.IsNaN(real) || math.IsNaN(imaginary) {
			values[i] = math.NaN()
		}
	}
	return values
}

func (m *measuring) page(values []float64) Statistics {
	s := Statistics{Count: uint64(len(values)), Min: math.Inf(1), Max: math.Inf(-1)}
	var total float64
	for _, v := range values {
		if v-v != 0 {
			s.notFinite(v)
			continue
		}
		total += v
		s.finite(v, m.normal)
	}
	if s.Finite == 0 {
		s.Min, s.Max = 0, 0
		return s
	}
	s.Mean = total / float64(s.Finite)
	s.deviations(values)
	return s
}

func (s *Statistics) notFinite(v float64) {
	switch {
	case math.IsNaN(v):
		s.NaN++
	case v > 0:
		s.PositiveInfinity++
	default:
		s.NegativeInfinity++
	}
}

func (s *Statistics) finite(v, normal float64) {
	size := math.Abs(v)
	s.Finite++
	s.L1 += size
	s.Min, s.Max = min(s.Min, v), max(s.Max, v)
	if size == 0 {
		s.Zero++
	} else if size < normal {
		s.Subnormal++
	}
}

// deviations sums up squares around the mean, without the part that the mean's rounding adds.
func (s *Statistics) deviations(values []float64) {
	var rest, squares float64
	for _, v := range values {
		if v-v == 0 {
			apart := v - s.Mean
			rest, squares = rest+apart, squares+apart*apart
		}
	}
	s.M2 = max(squares-rest/float64(s.Finite)*rest, 0)
	if math.IsInf(squares, 1) {
		s.M2 = squares
	}
}

// merge takes the elements of another part in, by Chan's rule.
func (s *Statistics) merge(o *Statistics) {
	if o.Finite > 0 && s.Finite == 0 {
		s.Mean, s.Min, s.Max = o.Mean, o.Min, o.Max
	}
	if o.Finite > 0 {
		apart, share := o.Mean-s.Mean, float64(o.Finite)/float64(s.Finite+o.Finite)
		s.Mean += apart * share
		s.M2 += o.M2 + apart*apart*float64(s.Finite)*share
		s.L1 += o.L1
		s.Min, s.Max = min(s.Min, o.Min), max(s.Max, o.Max)
	}
	s.Count, s.Finite = s.Count+o.Count, s.Finite+o.Finite
	s.NaN, s.Zero, s.Subnormal = s.NaN+o.NaN, s.Zero+o.Zero, s.Subnormal+o.Subnormal
	s.PositiveInfinity += o.PositiveInfinity
	s.NegativeInfinity += o.NegativeInfinity
}

// leastNormal is the least normal number of a type, 0 where all are.
func leastNormal(d torchfile.Dtype) float64 {
	switch d {
	case torchfile.Float16, torchfile.Float8E5M2:
		return 0x1p-14
	case torchfile.BFloat16, torchfile.Float32, torchfile.Complex64:
		return 0x1p-126
	case torchfile.Float64, torchfile.Complex128:
		return 0x1p-1022
	case torchfile.Float8E4M3FN:
		return 0x1p-6
	case torchfile.Float8E4M3FNUZ:
		return 0x1p-7
	case torchfile.Float8E5M2FNUZ:
		return 0x1p-15
	default:
		return 0
	}
}
