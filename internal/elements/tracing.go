package elements

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/tensortap/tensortap/internal/payload"
	"github.com/tensortap/tensortap/internal/torchfile"
)

// heldAtOnce is how much of a file a picture holds before it is read line by line.
const heldAtOnce = 64 << 20

// tracing reads the elements of a picture, line by line of its outer axis: that whose elements lie farther apart in the file,
// since a line across the file would be all of it.
type tracing struct {
	*Picture
	of           []*torchfile.Tensor
	outer, inner Edge
	turned       bool // the outer axis is that of the columns
}

func newTracing(p *Picture, of []*torchfile.Tensor) *tracing {
	t := &tracing{Picture: p, of: of, outer: p.Rows, inner: p.Columns}
	if p.Rows.Axis >= 0 && of[0].Stride[p.Rows.Axis] < of[0].Stride[p.Columns.Axis] {
		t.outer, t.inner, t.turned = p.Columns, p.Rows, true
	}
	return t
}

func (t *tracing) run(ctx context.Context) error {
	whole := t.lines(0, t.outer.To-t.outer.From)
	if t.held(whole) <= heldAtOnce {
		return t.read(ctx, whole, 0)
	}
	lines := t.outer.To - t.outer.From
	if each := t.held(t.lines(0, 1)); each > mostRead/lines {
		return fmt.Errorf("%w: %d bytes of the file would be read, the limit is %d; give smaller ranges", ErrTooLarge, each*lines, int64(mostRead))
	}
	for line := range lines {
		if err := t.read(ctx, t.lines(line, line+1), line); err != nil {
			return err
		}
	}
	return nil
}

// lines are the parts of the tensors with these lines, the outer axis before the inner.
func (t *tracing) lines(first, behind int64) []*torchfile.Tensor {
	from, to := slices.Clone(t.Window.From), slices.Clone(t.Window.To)
	if t.outer.Axis >= 0 {
		from[t.outer.Axis], to[t.outer.Axis] = t.outer.From+first, t.outer.From+behind
	}
	parts := make([]*torchfile.Tensor, len(t.of))
	for i, tensor := range t.of {
		parts[i] = tensor.Part(from, to)
		if t.turned {
			order := make([]int, len(from))
			for axis := range order {
				order[axis] = axis
			}
			order[t.outer.Axis], order[t.inner.Axis] = t.inner.Axis, t.outer.Axis
			parts[i] = parts[i].Permuted(order)
		}
	}
	return parts
}

// held is the greatest part of a file, in bytes, that the tensors lie in.
func (t *tracing) held(parts []*torchfile.Tensor) (most int64) {
	for _, part := range parts {
		last := int64(0)
		for axis, n := range part.Shape {
			last += (n - 1) * part.Stride[axis]
		}
		most = max(most, (last+1)*part.Dtype.Size())
	}
	return most
}

// read takes in the elements of some lines.
func (t *tracing) read(ctx context.Context, parts []*torchfile.Tensor, line int64) error {
	readers := make([]*payload.Reader, len(parts))
	for i, part := range parts {
		var err error
		if readers[i], err = payload.NewReader(part); err != nil {
			return err
		}
	}
	at := place{line: line}
	for ctx.Err() == nil {
		pieces := make([][]float64, len(parts))
		for i, reader := range readers {
			_, numbers, err := reader.Next()
			if errors.Is(err, io.EOF) && i == 0 {
				return nil
			} else if err != nil {
				return fmt.Errorf("read elements: %w", err)
			}
			pieces[i] = numbers
		}
		t.take(&at, pieces)
	}
	return context.Cause(ctx)
}

// place is that of the next element.
type place struct{ line, index int64 }

func (t *tracing) take(at *place, pieces [][]float64) {
	step := payload.Parts(t.of[0].Dtype)
	count := len(pieces[0]) / step
	for i := range count {
		cell := t.cell(at)
		for side, numbers := range pieces {
			t.Sides[side].add(cell, valueOf(t.element(side, numbers, i)))
		}
		if t.Apart != nil {
			t.Apart.add(cell, t.element(0, pieces[0], i), t.element(1, pieces[1], i))
		}
		if at.index++; at.index == t.inner.To-t.inner.From {
			at.line, at.index = at.line+1, 0
		}
	}
}

// element is the parts of one.
func (t *tracing) element(side int, numbers []float64, i int) []float64 {
	parts := payload.Parts(t.of[side].Dtype)
	return numbers[i*parts : (i+1)*parts]
}

func (t *tracing) cell(at *place) int64 {
	outer, inner := t.outer.cell(at.line), t.inner.cell(at.index)
	if t.turned {
		return inner*t.Columns.Cells + outer
	}
	return outer*t.Columns.Cells + inner
}
