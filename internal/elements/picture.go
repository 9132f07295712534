package elements

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/tensortap/tensortap/internal/torchfile"
)

// Picture is a window of one tensor, or of two and of their difference, as cells of one element or more.
type Picture struct {
	Window        Window
	Rows, Columns Edge
	Sides         []Cells // of the problem, and of the bench where there is one
	Apart         *Apart  // nil without a bench
}

// Edge is an axis of a picture.
type Edge struct {
	Axis     int // of the tensor; -1 where it has none for this
	From, To int64
	Cells    int64
}

// cell is where an index, counted from From, belongs.
func (e *Edge) cell(index int64) int64 { return index * e.Cells / (e.To - e.From) }

// Cells are those of one tensor, row by row. A number is NaN where no element of the cell is finite; of complex elements it is
// the magnitude.
type Cells struct {
	Dtype torchfile.Dtype
	Shape []int64

	Least, Greatest, Mean []float64 // of finite elements
	NaN, Infinite         []int64   // elements
	finite                []int64
}

// Apart is how far the elements of a cell are apart.
type Apart struct {
	Furthest []float64 // the greatest difference by magnitude, problem less bench; NaN where no pair is finite
	Unlike   []int64   // pairs of which one is NaN or infinite, and the other is not so
}

// mostRead bounds the bytes of a tensor that are read for a picture.
const mostRead = 8 << 30

// ErrTooLarge says that a picture would take long; who asked is told to ask for less.
var ErrTooLarge = errors.New("the slice is too large")

// ErrShapesDiffer says that there is no difference; who asked may ask for each tensor alone.
var ErrShapesDiffer = errors.New("the shapes differ")

// Draw reads a window, which is one of both shapes, into at most so many rows and columns. Bench may be nil. Memory is that of
// the cells, and of one line of the window in the file, 512 MiB at most.
func Draw(ctx context.Context, w Window, rows, columns int64, problem, bench *torchfile.Tensor) (*Picture, error) {
	of := []*torchfile.Tensor{problem}
	if bench != nil {
		if of = append(of, bench); !slices.Equal(problem.Shape, bench.Shape) {
			return nil, fmt.Errorf("%w: %v and %v", ErrShapesDiffer, problem.Shape, bench.Shape)
		}
	}
	p := &Picture{Window: w}
	p.Rows, p.Columns = w.edges(rows, columns)
	if w.Count() == 0 {
		p.Rows.Cells = 0
	}
	count := p.Rows.Cells * p.Columns.Cells
	for _, t := range of {
		p.Sides = append(p.Sides, newCells(t, count))
	}
	if bench != nil {
		p.Apart = &Apart{Furthest: unmeasured(count), Unlike: make([]int64, count)}
	}
	if count == 0 {
		return p, nil
	}
	return p, newTracing(p, of).run(ctx)
}

// edges are the axes of a window as those of a picture.
func (w *Window) edges(rows, columns int64) (row, column Edge) {
	row, column = Edge{-1, 0, 1, 1}, Edge{-1, 0, 1, 1}
	axes := w.Axes()
	if n := len(axes); n > 0 {
		column = w.edge(axes[n-1], columns)
		if n > 1 {
			row = w.edge(axes[0], rows)
		}
	}
	return row, column
}

func (w *Window) edge(axis int, most int64) Edge {
	return Edge{axis, w.From[axis], w.To[axis], min(most, w.To[axis]-w.From[axis])}
}

func newCells(t *torchfile.Tensor, count int64) Cells {
	return Cells{
		Dtype: t.Dtype, Shape: t.Shape, Least: unmeasured(count), Greatest: unmeasured(count), Mean: unmeasured(count),
		NaN: make([]int64, count), Infinite: make([]int64, count), finite: make([]int64, count),
	}
}

func unmeasured(count int64) []float64 {
	all := make([]float64, count)
	for i := range all {
		all[i] = math.NaN()
	}
	return all
}

// add takes an element into a cell.
func (c *Cells) add(cell int64, value float64) {
	switch kindOf(value) {
	case NaN:
		c.NaN[cell]++
	case PositiveInfinity, NegativeInfinity:
		c.Infinite[cell]++
	case Kinds:
		c.finite[cell]++
		if c.finite[cell] == 1 {
			c.Least[cell], c.Greatest[cell], c.Mean[cell] = value, value, value
			return
		}
		c.Least[cell], c.Greatest[cell] = min(c.Least[cell], value), max(c.Greatest[cell], value)
		n := float64(c.finite[cell])
		c.Mean[cell] += value/n - c.Mean[cell]/n // a sum of great numbers would be infinite
	}
}

// add takes a pair of elements into a cell.
func (a *Apart) add(cell int64, x, y []float64) {
	ofX, ofY := kindOf(valueOf(x)), kindOf(valueOf(y))
	if ofX != ofY {
		a.Unlike[cell]++
	}
	if ofX != Kinds || ofY != Kinds {
		return
	}
	apart := apartOf(x, y)
	if len(x) == 1 && len(y) == 1 {
		apart = x[0] - y[0]
	}
	if was := a.Furthest[cell]; math.IsNaN(was) || math.Abs(apart) > math.Abs(was) {
		a.Furthest[cell] = apart
	}
}
