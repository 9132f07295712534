package folders

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/schemas"
)

// dump has the rows of one rank and step.
type dump struct {
	place    rows.Place
	rank     schemas.RankRow
	step     schemas.StepRow
	tensors  *rows.Tensors
	layouts  map[uint64]uint64 // rows of tensors by their layout
	keeps    bool              // any raw tensors
	problems producers.Problems
}

// reader reads dumps of one run, one after the other. It adds definitions to its own.
type reader struct {
	run         *run
	each        producers.Reader
	definitions *rows.Definitions
	calls       map[rows.Call]uint64 // their stacks

	now     *dump
	last    *dump           // read before
	scratch rows.Tensors    // of the dump that is being read
	ops     []schemas.OpRow // memory for the next ones
	program []schemas.ProgramRow
	stacks  [2][]schemas.ProgramStackRow // of the dump that is being read, and of the last
}

const (
	opsAtATime        = 128
	mostExpectedSites = 1 << 18 // whatever the size of a file
)

func newReader(of *run) *reader {
	r := &reader{run: of, definitions: rows.NewDefinitions(), calls: map[rows.Call]uint64{}}
	const bytesOfTensor = 300
	tensors := int(of.found.Dumps[0].Bytes / bytesOfTensor)
	r.definitions.Sites = make(map[uint64]schemas.SiteRow, min(tensors, mostExpectedSites))
	r.scratch.SiteID = make([]uint64, 0, min(tensors, mostExpectedSites))
	r.each = of.found.Reader(of.folder.Name, producers.Rows{
		Rank:         func(row *schemas.RankRow) { r.now.rank = *row },
		Op:           r.op,
		Site:         r.site,
		Layout:       r.layout,
		Stack:        r.stack,
		Program:      func(row *schemas.ProgramRow) { r.program = append(r.program, *row) },
		ProgramStack: func(row *schemas.ProgramStackRow) { r.stacks[0] = append(r.stacks[0], *row) },
		Step:         func(row *schemas.StepRow) { r.now.step = *row },
		Tensor:       func(row *schemas.TensorRow) { r.scratch.Append(row) },
		Payload:      func(*schemas.PayloadRow) { r.now.keeps = true },
	})
	return r
}

func (r *reader) read(ctx context.Context, at int, progress func(int64)) error {
	found := &r.run.found.Dumps[at]
	r.now = &r.run.dumps[at]
	r.now.place = rows.Place{Rank: found.Rank, Step: found.Step}
	r.program, r.stacks[0] = r.program[:0], r.stacks[0][:0]
	var err error
	if r.now.problems, err = r.each(ctx, at, progress); err != nil {
		return err
	}
	r.defineProgram()
	if !slices.Equal(r.stacks[0], r.stacks[1]) {
		addStacks(r.calls, r.stacks[0])
		r.stacks[0], r.stacks[1] = r.stacks[1], r.stacks[0]
	}
	r.keep()
	r.last = r.now
	return nil
}

func (r *reader) op(row *schemas.OpRow) {
	if r.definitions.Ops[row.OpID] == nil {
		if len(r.ops) == cap(r.ops) {
			r.ops = make([]schemas.OpRow, 0, opsAtATime)
		}
		r.ops = append(r.ops, *row)
		added := &r.ops[len(r.ops)-1]
		valid(&added.Name, &added.Prefix, &added.ModulePath, &added.ClassOrAPI)
		r.definitions.Ops[row.OpID] = added
	}
}

func (r *reader) site(row *schemas.SiteRow) {
	added := *row
	valid(&added.Path)
	r.definitions.Sites[row.SiteID] = added
}

func (r *reader) layout(row *schemas.LayoutRow) {
	if r.definitions.Layouts[row.LayoutID] == nil {
		added := *row
		valid(&added.Dtype, &added.Placement, &added.Literal)
		r.definitions.Layouts[row.LayoutID] = &added
	}
}

func (r *reader) stack(row *schemas.StackRow) {
	if _, known := r.definitions.Stacks[row.StackID]; !known {
		r.definitions.Stacks[row.StackID] = slices.Clone(row.Frames)
	}
}

// valid replaces invalid text, as stores do.
func valid(texts ...*string) {
	for _, text := range texts {
		if !utf8.ValidString(*text) {
			*text = strings.ToValidUTF8(*text, "\uFFFD")
		}
	}
}

// defineProgram keeps the program of the dump that was read, if it is new.
func (r *reader) defineProgram() {
	if len(r.program) == 0 {
		return
	}
	id := r.program[0].ProgramID
	if _, known := r.definitions.Programs[id]; !known {
		r.definitions.Programs[id] = slices.Clone(r.program)
	}
}

// merge adds the definitions of others to those of the first, which it returns.
func merge(readers []*reader) *rows.Definitions {
	all := readers[0].definitions
	for _, r := range readers[1:] {
		addTo(all.Ops, r.definitions.Ops)
		addTo(all.Sites, r.definitions.Sites)
		addTo(all.Layouts, r.definitions.Layouts)
		addTo(all.Programs, r.definitions.Programs)
		addTo(all.Stacks, r.definitions.Stacks)
	}
	return all
}

// addTo adds the missing entries.
func addTo[V any](all, more map[uint64]V) {
	for id, v := range more {
		if _, known := all[id]; !known {
			all[id] = v
		}
	}
}
