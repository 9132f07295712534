// Package arguments lists the rows that msProbe makes of a dump: one for each
// tensor, or other argument, of the ops that it knows, with the texts that it
// prints.
package arguments

import (
	"fmt"
	"strings"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// The statistics of a row, in msProbe's order.
const (
	Max = iota
	Min
	Mean
	Norm
	StatisticCount
)

// Number is a number, if it is known.
type Number struct {
	Value float64
	Known bool
}

// Argument is one row.
type Argument struct {
	*Named
	Seq, LayoutID uint64

	IsTensor                  bool
	Dtype, Shape, Grad, Value string // as printed; a tensor has no value
	Checksum                  string
	Statistics                [StatisticCount]Number // those of what is no tensor are all its value, if that is a number
}

// Lister lists the rows of one run. It is not safe for use by several goroutines.
type Lister struct {
	definitions *rows.Definitions
	keeps       func(site uint64) bool
	words       map[uint64]*words
	program     *program // whose ops were listed last
}

// NewLister is for a run that kept the raw tensors of some sites.
func NewLister(definitions *rows.Definitions, keeps func(site uint64) bool) *Lister {
	return &Lister{definitions: definitions, keeps: keeps, words: map[uint64]*words{}}
}

// List are the rows of a step that ran the program, in their order. What is no op of it has none.
func (l *Lister) List(programID uint64, tensors *rows.Tensors) []Argument {
	if l.program == nil || l.program.id != programID {
		l.program = newProgram(l.definitions, programID, l.keeps)
	}
	list := make([]Argument, 0, tensors.Len())
	for i := range tensors.Len() {
		seen := tensors.At(i)
		if named := l.program.named(seen.SiteID); named != nil {
			list = append(list, l.argument(named, &seen))
		}
	}
	return list
}

func (l *Lister) argument(named *Named, seen *rows.Observation) Argument {
	w := l.wordsOf(seen.LayoutID)
	a := Argument{
		Named: named, Seq: seen.Seq, LayoutID: seen.LayoutID,
		IsTensor: w.isTensor, Dtype: w.dtype, Shape: w.shape, Grad: w.grad, Value: w.value,
	}
	isPeer := named.isPeer && strings.HasPrefix(w.dtype, "<class")
	if isPeer {
		a.Dtype = strings.Split(w.dtype, "'")[1]
	}
	a.Checksum = w.checksumOf(seen, isPeer)
	if !w.isTensor {
		a.Statistics = [StatisticCount]Number{w.number, w.number, w.number, w.number}
		return a
	}
	a.Statistics = [StatisticCount]Number{
		Max: {seen.Max, seen.Has(schemas.MeasuredMax)}, Min: {seen.Min, seen.Has(schemas.MeasuredMin)},
		Mean: {seen.Mean, seen.Has(schemas.MeasuredMean)}, Norm: {seen.L2, seen.Has(schemas.MeasuredL2)},
	}
	return a
}

func (l *Lister) wordsOf(layout uint64) *words {
	if w, known := l.words[layout]; known {
		return w
	}
	w := newWords(l.definitions.Layout(layout))
	l.words[layout] = w
	return w
}

// checksumOf is what msProbe prints of a digest; of what has none, it takes that of the printed value.
func (w *words) checksumOf(seen *rows.Observation, isPeer bool) string {
	switch {
	case seen.DigestKind == schemas.DigestCRC32:
		return fmt.Sprintf("%08x", uint32(seen.Digest)) //nolint:gosec // a CRC-32
	case seen.DigestKind == schemas.DigestXOR:
		return fmt.Sprintf("0x%016x", seen.Digest)
	case w.isTensor:
		return "00000000"
	case isPeer:
		return w.value
	}
	return w.checksum
}
