package elements

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/tensortap/tensortap/internal/payload"
	"github.com/tensortap/tensortap/internal/torchfile"
)

// Pair is an element of both tensors.
type Pair struct {
	Index          []int64
	Problem, Bench string  // lose nothing
	Apart          float64 // the absolute difference
	Relative       float64 // to the bench's element
}

// Difference is how two tensors differ.
type Difference struct {
	Problem, Bench Side
	Distance       payload.Result
	Same           bool // same dtype, and as many elements of the same values; or within the tolerance that was given

	Compared int64 // elements
	Changed  int64 // of them, those of other values; NaN is equal to NaN
	Beyond   int64 // of those, the ones beyond Within
	Within   float64
	Given    bool // Within was asked for

	ShapesDiffer bool
	Shape        []int64 // of the elements that were compared
	Axes         []Axis  // of the elements beyond Within; where there are none, of those that changed
	NotFinite    [Kinds]Mismatch
	Worst        []Pair // the greatest differences; Shown at most
	Histogram    []Bin  // of the differences by powers of ten
	Where        string // empty where nothing differs, or shapes do
	How          string // the rule by which the problem is made of the bench; empty where none was found
	Sampled      int    // elements that the rule was tried on
}

// Side is one of the tensors.
type Side struct {
	Name       string // as the text calls it
	Dtype      torchfile.Dtype
	Shape      []int64
	Statistics payload.Statistics
}

// Mismatch is where elements of one side only are of a kind that is not finite.
type Mismatch struct{ Problem, Bench Places }

// Options say how to compare.
type Options struct {
	// Within is a difference that counts as none, relative to the greater of both elements and of the bench's root mean
	// square; below 0, elements must be equal, and patterns are looked for beyond the rounding of the dtypes.
	Within float64
}

// Diff compares two tensors. Dimensions of size 1 do not count.
func Diff(ctx context.Context, problem, bench *torchfile.Tensor, o Options) (*Difference, error) {
	d := &Difference{Within: o.Within, Given: o.Within >= 0}
	if !d.Given {
		d.Within = max(rounding(problem.Dtype), rounding(bench.Dtype))
	}
	var err error
	if d.Problem, err = sideOf(ctx, problem); err != nil {
		return nil, fmt.Errorf("problem: %w", err)
	}
	if d.Bench, err = sideOf(ctx, bench); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	if d.Distance, err = payload.Compare(ctx, problem, bench); err != nil {
		return nil, err
	}
	w := &walk{Difference: d, problem: problem, bench: bench, scale: rootMeanSquare(&d.Bench.Statistics)}
	if !slices.Equal(problem.Shape, bench.Shape) {
		w.problem, w.bench = problem.Squeezed(), bench.Squeezed()
	}
	return d, w.run(ctx)
}

func sideOf(ctx context.Context, t *torchfile.Tensor) (Side, error) {
	statistics, err := payload.Measure(ctx, t)
	return Side{Dtype: t.Dtype, Shape: t.Shape, Statistics: statistics}, err
}

func rootMeanSquare(s *payload.Statistics) float64 {
	if s.Finite == 0 {
		return 0
	}
	return s.L2() / math.Sqrt(float64(s.Finite))
}

// walk is one pass over both tensors.
type walk struct {
	*Difference
	problem, bench *torchfile.Tensor
	scale          float64 // of the bench

	changed, beyond *indices
	worst           top
	powers          decades
	sample          sample // of elements beyond the tolerance
}

func (w *walk) run(ctx context.Context) error {
	if !slices.Equal(w.problem.Shape, w.bench.Shape) {
		w.ShapesDiffer = true
		w.reshaped()
		return nil
	}
	w.Shape = w.problem.Shape
	w.Compared = w.problem.Count
	if !w.Distance.SameBits {
		w.changed, w.beyond = newIndices(w.Shape), newIndices(w.Shape)
		w.worst, w.powers, w.sample = top{most: Shown}, decades{}, newSample()
		if err := w.pass(ctx); err != nil {
			return err
		}
		w.findings(ctx)
	}
	w.Same = w.Changed == 0 && w.problem.Dtype == w.bench.Dtype || w.Given && w.Beyond == 0
	return nil
}

func (w *walk) pass(ctx context.Context) error {
	problem, err := payload.NewReader(w.problem)
	if err != nil {
		return fmt.Errorf("problem: %w", err)
	}
	bench, err := payload.NewReader(w.bench)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	for number := int64(0); ctx.Err() == nil; number += payload.PieceElements {
		var x, y piece
		if x.raw, x.parts, err = problem.Next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("problem: %w", err)
		}
		if y.raw, y.parts, err = bench.Next(); err != nil {
			return fmt.Errorf("bench: %w", err)
		}
		w.piece(number, x, y)
	}
	return context.Cause(ctx)
}

// piece is some elements of one side.
type piece struct {
	raw   []byte
	parts []float64
}

// one is the element at a place of the piece.
func (p piece) one(d torchfile.Dtype, i int) piece {
	size, parts := int(d.Size()), payload.Parts(d)
	return piece{p.raw[i*size : (i+1)*size], p.parts[i*parts : (i+1)*parts]}
}

func (w *walk) piece(first int64, x, y piece) {
	if w.problem.Dtype == w.bench.Dtype && bytes.Equal(x.raw, y.raw) {
		return
	}
	count := len(x.raw) / int(w.problem.Dtype.Size())
	for i := range count {
		w.element(first+int64(i), x.one(w.problem.Dtype, i), y.one(w.bench.Dtype, i))
	}
}

func (w *walk) element(number int64, x, y piece) {
	if w.equal(x, y) {
		return
	}
	w.Changed++
	w.changed.add(number)
	apart := apartOf(x.parts, y.parts)
	if kindsDiffer := w.mismatch(number, valueOf(x.parts), valueOf(y.parts)); !kindsDiffer {
		w.powers.add(apart)
		w.worst.addPair(number, apart, apart, x.raw, y.raw)
		if apart <= w.Within*w.size(x.parts, y.parts) && (apart > 0 || w.Given) {
			return
		}
	}
	w.Beyond++
	w.beyond.add(number)
	w.sample.add(number, x.parts, y.parts)
}

// size is what a difference is measured against.
func (w *walk) size(x, y []float64) float64 {
	return max(math.Abs(valueOf(x)), math.Abs(valueOf(y)), w.scale)
}

// equal holds for NaN beside NaN. Whole numbers of 64 bits are compared by their bits, as not all of them are float64.
func (w *walk) equal(x, y piece) bool {
	if w.problem.Dtype == w.bench.Dtype && payload.Parts(w.problem.Dtype) == 1 && roundoff(w.problem.Dtype) == 0 {
		return bytes.Equal(x.raw, y.raw)
	}
	return equalParts(x.parts, y.parts)
}

func equalParts(x, y []float64) bool {
	if len(x) != len(y) {
		return apartOf(x, y) == 0
	}
	for i, v := range x {
		if v != y[i] && (!math.IsNaN(v) || !math.IsNaN(y[i])) {
			return false
		}
	}
	return true
}

// apartOf is the absolute difference; a real element beside a complex one has no imaginary part.
func apartOf(x, y []float64) float64 {
	if len(x) == 1 && len(y) == 1 {
		return math.Abs(x[0] - y[0])
	}
	x, y = append(slices.Clone(x), 0)[:2], append(slices.Clone(y), 0)[:2]
	return math.Hypot(x[0]-y[0], x[1]-y[1])
}

// mismatch notes elements of which one is not finite in a way that the other is not.
func (w *walk) mismatch(number int64, x, y float64) bool {
	ofX, ofY := kindOf(x), kindOf(y)
	if ofX == ofY {
		return false
	}
	if ofX != Kinds {
		w.NotFinite[ofX].Problem.add(w.Shape, number)
	}
	if ofY != Kinds {
		w.NotFinite[ofY].Bench.add(w.Shape, number)
	}
	return true
}

func (w *walk) findings(ctx context.Context) {
	w.Histogram = w.powers.bins()
	for _, one := range w.worst.kept {
		pair := Pair{
			Index: indexOf(w.Shape, one.number), Apart: one.rank,
			Problem: textOf(w.problem.Dtype, one.raw), Bench: textOf(w.bench.Dtype, one.other),
		}
		pair.Relative = one.rank / math.Abs(valueOf(payload.Numbers(w.bench.Dtype, one.other)))
		w.Worst = append(w.Worst, pair)
	}
	switch {
	case w.Changed == 0:
		return
	case w.Beyond == 0:
		w.Axes = w.changed.axes()
		w.Where = w.changed.where(w.Changed)
		w.How = w.aboutRounding()
	default:
		w.Axes = w.beyond.axes()
		w.Where = w.beyond.where(w.Beyond)
		w.How = w.rule(ctx)
	}
}

func (w *walk) aboutRounding() string {
	if w.Given {
		return "all differences are within the tolerance"
	}
	coarser := w.problem.Dtype
	if roundoff(w.bench.Dtype) > roundoff(coarser) {
		coarser = w.bench.Dtype
	}
	return fmt.Sprintf("all differences are about the rounding of %s", coarser)
}
