package pair

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Signature is a hash of an op's inputs and outputs, apart from values, once with dtypes and once without. Only
// equality counts.
type Signature struct{ Exact, Shapes uint64 }

// Signatures are the signatures of the ops that have rows among the tensors, by op. Devices, strides and placements
// are left out, since they differ between runs as a whole; so is text, which may be the id of a request. Sizes count
// without the factors of split, the numbers of ranks among which tensors are split; 1 where there are none.
func Signatures(tensors *rows.Tensors, definitions *rows.Definitions, split int64) map[uint64]Signature {
	s := signer{definitions: definitions, split: split, layouts: map[uint64]Signature{}}
	type seen struct{ site, layout uint64 }
	observed := make(map[seen]bool, tensors.Len())
	parts := map[uint64]*[2][]uint64{}
	for i := range tensors.Len() {
		at := seen{tensors.SiteID[i], value(tensors.LayoutID, i)}
		site, defined := definitions.Sites[at.site]
		layout, ok := s.layout(at.layout)
		if !defined || !ok || observed[at] {
			continue
		}
		observed[at] = true
		if parts[site.OpID] == nil {
			parts[site.OpID] = &[2][]uint64{}
		}
		part := parts[site.OpID]
		part[0] = append(part[0], hashFields(site.Role, site.Path, layout.Exact))
		part[1] = append(part[1], hashFields(site.Role, site.Path, layout.Shapes))
	}
	signatures := make(map[uint64]Signature, len(parts))
	for op, part := range parts {
		signatures[op] = Signature{Exact: hashSet(part[0]), Shapes: hashSet(part[1])}
	}
	return signatures
}

// value is an element of a column; a nil column is zero in every row.
func value[T any](column []T, i int) (v T) {
	if column == nil {
		return v
	}
	return column[i]
}

// signer hashes layouts, each once.
type signer struct {
	definitions *rows.Definitions
	split       int64
	layouts     map[uint64]Signature
}

func (s *signer) layout(id uint64) (Signature, bool) {
	if known, ok := s.layouts[id]; ok {
		return known, true
	}
	l := s.definitions.Layout(id)
	if l == nil {
		return Signature{}, false
	}
	var sizes []byte
	for _, size := range l.Shape {
		sizes = binary.LittleEndian.AppendUint64(sizes, uint64(s.unsplit(size))) //nolint:gosec // as bits
	}
	shapes, exact := s.word(l)
	of := Signature{
		Exact:  hashFields(l.Kind, l.Dtype, xxh3.Hash(sizes), exact),
		Shapes: hashFields(l.Kind, "", xxh3.Hash(sizes), shapes),
	}
	s.layouts[id] = of
	return of, true
}

// word is the part of a literal that counts without dtypes, and with them.
func (s *signer) word(l *schemas.LayoutRow) (shapes, exact string) {
	switch l.Kind {
	case "str", "device", "group", "other":
		return "", ""
	case "dtype":
		return "", l.Literal
	case "int":
		number, _ := strconv.ParseInt(l.Literal, 10, 64) // another text counts as 0
		word := strconv.FormatInt(s.unsplit(number), 10)
		return word, word
	}
	return l.Literal, l.Literal
}

// unsplit is a size without the factors that follow from the numbers of ranks.
func (s *signer) unsplit(size int64) int64 {
	a, b := max(size, 1), s.split
	for b != 0 {
		a, b = b, a%b
	}
	return size / a
}

func hashFields(first, second string, third uint64, more ...string) uint64 {
	var stack [256]byte
	bytes := stack[:0]
	for _, word := range append(more, first, second) {
		bytes = binary.LittleEndian.AppendUint32(bytes, uint32(len(word))) //nolint:gosec // of a text
		bytes = append(bytes, word...)
	}
	return xxh3.Hash(binary.LittleEndian.AppendUint64(bytes, third))
}

// hashSet is a hash of different numbers in any order.
func hashSet(numbers []uint64) uint64 {
	slices.Sort(numbers)
	bytes := make([]byte, 0, 8*len(numbers))
	for _, n := range slices.Compact(numbers) {
		bytes = binary.LittleEndian.AppendUint64(bytes, n)
	}
	return xxh3.Hash(bytes)
}

// Sign gives the ops of two programs their signatures. If the ops of one have no rows, neither gets
// any.
func Sign(problem, bench *Program, problems, benches map[uint64]Signature) {
	of := func(s Signature) uint64 { return s.Exact }
	if otherDtypes(problems, benches) {
		of = func(s Signature) uint64 { return s.Shapes }
	}
	if len(problems) == 0 || len(benches) == 0 {
		problems, benches = nil, nil
	}
	problem.sign(problems, of)
	bench.sign(benches, of)
}

func (p *Program) sign(signatures map[uint64]Signature, of func(Signature) uint64) {
	for i := range p.Ops {
		p.Ops[i].Signature = of(signatures[p.Ops[i].ID])
	}
}

// otherDtypes says whether dtypes separate more than half of the ops that are the same in shapes and literals:
// then the runs differ in dtypes as a whole, and dtypes say nothing about pairs of ops.
func otherDtypes(problem, bench map[uint64]Signature) bool {
	exact, shapes := map[uint64]bool{}, map[uint64]bool{}
	for _, s := range bench {
		exact[s.Exact], shapes[s.Shapes] = true, true
	}
	var equal, alike int
	for _, s := range problem {
		if exact[s.Exact] {
			equal++
		}
		if shapes[s.Shapes] {
			alike++
		}
	}
	return 2*equal < alike
}
