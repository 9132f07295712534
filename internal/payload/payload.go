// Package payload says how far two tensors are apart, element by element.
//
// Both are read piece by piece, so that memory does not grow with them (package torchfile names the
// exception). Values are compared as float64. Only the relative error of an element is computed in
// single precision, as msProbe does, so that shares of elements come out the same.
package payload

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/internal/torchfile"
)

// Beginnings of a message. Several are joined by "; ", and details may follow after a colon.
const (
	Empty       = "no elements"
	ShapeDiffer = "shapes differ"
	OneElement  = "one element"
	NotFinite   = "not finite at different places"
	OtherSign   = "infinite with different signs"
	DtypeDiffer = "dtypes differ"
	ZeroProblem = "problem is all zero"
	ZeroBench   = "bench is all zero"
)

// Result is the distance of a problem's tensor from the bench's. A nil number is not defined, and Message says why.
type Result struct {
	Elements int64 // that were compared
	SameBits bool  // same dtype, shape and bytes

	// Cosine of the angle between both. NaN when only one is zero, 1 when both are; nil for a single element.
	Cosine *float64
	// RelativeL2 is the L2 norm of the difference, divided by the bench's norm: 0 when both are zero, infinite when
	// only the bench is.
	RelativeL2 *float64
	// L2Distance is the L2 norm of the difference; nil for a single element, where MaxAbsolute says the same.
	L2Distance *float64
	// MaxAbsolute and MaxRelative are over all elements. Where the bench is
	// zero, the precision's epsilon is added to both sides before dividing. A
	// single element that is not finite is taken as it is.
	MaxAbsolute *float64
	MaxRelative *float64
	// Thousandth and FiveThousandth are the shares of elements with a relative error below 0.001
	// and 0.005; nil for a single element.
	Thousandth     *float64
	FiveThousandth *float64

	Message string
}

// Compare reads both tensors. Dimensions of size 1 do not count. Elements that are NaN on both
// sides, or infinite on both, count as zero; if such elements are at different places, nothing is
// computed. Parts of complex numbers count as elements of their own. An error means that a tensor
// could not be read.
func Compare(ctx context.Context, problem, bench *torchfile.Tensor) (Result, error) {
	x, y := problem.Squeezed(), bench.Squeezed()
	var r Result
	switch {
	case x.Count == 0 || y.Count == 0:
		r.SameBits = x.Dtype == y.Dtype && slices.Equal(problem.Shape, bench.Shape)
		r.note(Empty)
		return r, nil
	case !slices.Equal(x.Shape, y.Shape):
		r.note(fmt.Sprintf("%s: %v and %v", ShapeDiffer, problem.Shape, bench.Shape))
		return r, nil
	}
	if x.Dtype != y.Dtype {
		r.note(fmt.Sprintf("%s: %s and %s", DtypeDiffer, x.Dtype, y.Dtype))
	}
	s := scan{problem: x, bench: y, scales: scales{1, 1, 1}}
	s.reorder()
	if err := s.run(ctx); err != nil {
		return Result{}, err
	}
	r.fill(&s)
	return r, nil
}

func (r *Result) note(message string) {
	if r.Message != "" {
		message = r.Message + "; " + message
	}
	r.Message = message
}

// fill writes the findings of a scan.
func (r *Result) fill(s *scan) {
	r.Elements, r.SameBits = s.problem.Count, s.sameBits
	single := s.problem.Count == 1
	if single {
		r.note(OneElement)
	}
	if !s.mismatch {
		r.MaxAbsolute, r.MaxRelative = &s.maxD, &s.maxRelative
	}
	if s.unmasked != nil {
		r.MaxAbsolute, r.MaxRelative = s.unmasked, &s.maxRelative
	}
	if s.mismatch {
		r.note(NotFinite)
		return
	}
	relative := s.relativeL2()
	r.RelativeL2 = &relative
	if s.otherSign {
		r.note(OtherSign)
		relative = math.Inf(1)
	}
	if single {
		return
	}
	distance := s.norm(s.dd, s.scales.d)
	total := float64(s.count)
	thousandth, five := float64(s.below1)/total, float64(s.below5)/total
	r.L2Distance, r.Thousandth, r.FiveThousandth = &distance, &thousandth, &five
	r.angle(s)
}

// angle is the cosine, by the rule of msProbe for vectors that are nearly nothing.
func (r *Result) angle(s *scan) {
	const least = 0x1p-52
	x, y := s.norm(s.xx, s.scales.x), s.norm(s.yy, s.scales.y)
	var cosine float64
	switch {
	case x <= least && y <= least:
		cosine = 1
	case x <= least:
		cosine = math.NaN()
		r.note(ZeroProblem)
	case y <= least:
		cosine = math.NaN()
		r.note(ZeroBench)
	default:
		cosine = s.xy.value() / (math.Sqrt(s.xx.value()) * math.Sqrt(s.yy.value()))
		cosine = min(max(cosine, -1), 1)
	}
	r.Cosine = &cosine
}

// scan is one pass over both tensors, or two when squares leave the range of float64.
type scan struct {
	problem, bench *torchfile.Tensor
	totals
	scales scales
}

// reorder takes the dimensions of both in the order of the problem's elements in its file, since the order does not
// matter to any sum.
func (s *scan) reorder() {
	if s.problem.Dense() {
		return
	}
	order := make([]int, len(s.problem.Shape))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.problem.Stride[b], s.problem.Stride[a]) })
	s.problem, s.bench = s.problem.Permuted(order), s.bench.Permuted(order)
}

func (s *scan) run(ctx context.Context) error {
	if err := s.pass(ctx); err != nil || s.mismatch {
		return err
	}
	wanted := scales{scaleOf(s.maxX), scaleOf(s.maxY), scaleOf(s.maxD)}
	if wanted == s.scales {
		return nil
	}
	s.scales = wanted
	return s.pass(ctx)
}

// pieceElements are decoded at a time.
const pieceElements = 16 << 10

func (s *scan) pass(ctx context.Context) error {
	s.totals = totals{sameBits: s.problem.Dtype == s.bench.Dtype, single: single(s.problem.Dtype) && single(s.bench.Dtype)}
	problem, err := newSide(s.problem)
	if err != nil {
		return fmt.Errorf("problem: %w", err)
	}
	bench, err := newSide(s.bench)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	for ctx.Err() == nil && !s.mismatch {
		if err := problem.next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("problem: %w", err)
		}
		if err := bench.next(); err != nil {
			return fmt.Errorf("bench: %w", err)
		}
		s.piece(problem, bench)
	}
	return ctx.Err()
}

// piece adds the pieces that both sides hold now.
func (s *scan) piece(problem, bench *side) {
	same := s.problem.Dtype == s.bench.Dtype && bytes.Equal(problem.raw, bench.raw)
	s.sameBits = s.sameBits && same
	bench.decode()
	if same && s.scales.x == s.scales.y {
		s.addSame(bench.values)
		return
	}
	problem.decode()
	if s.problem.Count == 1 && (!finite(problem.values) || !finite(bench.values)) {
		s.notFinite(problem.values, bench.values)
		return
	}
	s.add(problem.values, bench.values, s.scales)
}

// side is one tensor's part of a comparison.
type side struct {
	elements *torchfile.Elements
	size     int64
	buffer   []byte
	raw      []byte // of the present piece
	decoder  decoder
	parts    int64 // of an element
	space    []float64
	values   []float64 // of the present piece, once decoded
}

func newSide(t *torchfile.Tensor) (*side, error) {
	elements, err := t.Elements()
	if err != nil {
		return nil, err
	}
	s := &side{elements: elements, size: t.Dtype.Size(), decoder: decoderOf(t.Dtype), parts: partsOf(t.Dtype)}
	n := min(t.Count, pieceElements)
	s.buffer, s.space = make([]byte, n*s.size), make([]float64, n*s.parts)
	return s, nil
}

func (s *side) next() error {
	n, err := s.elements.Read(s.buffer)
	s.raw = s.buffer[:n*s.size]
	return err
}

func (s *side) decode() {
	s.values = s.space[:int64(len(s.raw))/s.size*s.parts]
	s.decoder(s.values, s.raw)
}

// Has says whether a message has that part.
func Has(message, part string) bool {
	for m := range strings.SplitSeq(message, "; ") {
		if m == part || strings.HasPrefix(m, part+":") {
			return true
		}
	}
	return false
}
