package elements

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/tensortap/tensortap/internal/payload"
	"github.com/tensortap/tensortap/internal/torchfile"
)

// Look is what one tensor holds.
type Look struct {
	Side      // of complex elements its statistics cover the magnitudes
	NotFinite [Kinds]Places
	Greatest  []Element // by magnitude, the greatest first; Shown at most
	Histogram []Bin     // of the finite elements
}

// Bytes is the size of its elements.
func (l *Look) Bytes() int64 { return int64(l.Statistics.Count) * l.Dtype.Size() } //nolint:gosec // no tensor has more

// At looks at a tensor, which is read twice.
func At(ctx context.Context, t *torchfile.Tensor) (*Look, error) {
	side, err := sideOf(ctx, t)
	if err != nil {
		return nil, err
	}
	look := &Look{Side: side}
	if look.Statistics.Finite > 0 {
		look.Histogram = newBins(look.Statistics.Min, look.Statistics.Max, roundoff(t.Dtype) == 0)
	}
	greatest := top{most: Shown}
	err = each(ctx, t, func(number int64, raw []byte, parts []float64) {
		look.add(&greatest, number, raw, valueOf(parts))
	})
	look.Greatest = greatest.elements(t)
	return look, err
}

func (l *Look) add(greatest *top, number int64, raw []byte, value float64) {
	if kind := kindOf(value); kind != Kinds {
		l.NotFinite[kind].add(l.Shape, number)
		return
	}
	l.Histogram[binOf(l.Histogram, value)].Count++
	greatest.add(number, math.Abs(value), value, raw)
}

// each calls visit for each element, by its number in row-major order.
func each(ctx context.Context, t *torchfile.Tensor, visit func(number int64, raw []byte, parts []float64)) error {
	reader, err := payload.NewReader(t)
	if err != nil {
		return err
	}
	size, parts, number := int(t.Dtype.Size()), payload.Parts(t.Dtype), int64(0)
	for ctx.Err() == nil {
		raw, values, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read elements: %w", err)
		}
		for i := 0; i*size < len(raw); i++ {
			visit(number, raw[i*size:(i+1)*size], values[i*parts:(i+1)*parts])
			number++
		}
	}
	return context.Cause(ctx)
}

// top keeps the elements of the greatest rank, the first of equal ones.
type top struct {
	most int
	kept []ranked
}

type ranked struct {
	number      int64
	rank, value float64
	raw, other  []byte
}

func (t *top) add(number int64, rank, value float64, raw []byte) {
	t.addPair(number, rank, value, raw, nil)
}

func (t *top) addPair(number int64, rank, value float64, raw, other []byte) {
	if !(rank > 0) || len(t.kept) == t.most && rank <= t.kept[len(t.kept)-1].rank {
		return
	}
	at, _ := slices.BinarySearchFunc(t.kept, rank, func(one ranked, rank float64) int {
		if one.rank >= rank {
			return -1
		}
		return 1
	})
	one := ranked{number, rank, value, slices.Clone(raw), slices.Clone(other)}
	t.kept = slices.Insert(t.kept, at, one)
	t.kept = t.kept[:min(len(t.kept), t.most)]
}

func (t *top) elements(of *torchfile.Tensor) []Element {
	found := make([]Element, len(t.kept))
	for i, one := range t.kept {
		found[i] = Element{Index: indexOf(of.Shape, one.number), Value: one.value, Text: textOf(of.Dtype, one.raw)}
	}
	return found
}
