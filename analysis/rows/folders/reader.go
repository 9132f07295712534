package folders

import (
	"context"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/producers"
	"github.com/tensortap/tensortap/schemas"
)

// dump is what was read of one rank and step.
type dump struct {
	place    rows.Place
	rank     schemas.RankRow
	step     schemas.StepRow
	tensors  *rows.Tensors
	layouts  map[uint64]uint64 // rows of tensors by their layout
	stacks   []schemas.ProgramStackRow
	problems producers.Problems
}

// shared is what all goroutines add definitions to.
type shared struct {
	lock        sync.Mutex
	definitions *rows.Definitions
}

func newShared(definitions *rows.Definitions) *shared { return &shared{definitions: definitions} }

// reader reads dumps of one run, one after the other.
type reader struct {
	run     *run
	shared  *shared
	each    producers.Reader
	now     *dump
	scratch rows.Tensors // of the dump that is being read
	last    *dump        // read before
	program []schemas.ProgramRow
	told    map[uint64]bool // programs that are defined
}

func newReader(of *run, with *shared) *reader {
	r := &reader{run: of, shared: with, told: map[uint64]bool{}}
	r.each = of.found.Reader(of.folder.Name, producers.Rows{
		Rank:         func(row *schemas.RankRow) { r.now.rank = *row },
		Op:           r.op,
		Site:         r.site,
		Layout:       r.layout,
		Stack:        r.stack,
		Program:      func(row *schemas.ProgramRow) { r.program = append(r.program, *row) },
		ProgramStack: func(row *schemas.ProgramStackRow) { r.now.stacks = append(r.now.stacks, *row) },
		Step:         func(row *schemas.StepRow) { r.now.step = *row },
		Tensor:       func(row *schemas.TensorRow) { r.scratch.Append(row) },
	})
	return r
}

func (r *reader) read(ctx context.Context, at int, progress func(int64)) error {
	found := &r.run.found.Dumps[at]
	r.now = &r.run.dumps[at]
	r.now.place = rows.Place{Rank: found.Rank, Step: found.Step}
	r.program = r.program[:0]
	var err error
	if r.now.problems, err = r.each(ctx, at, progress); err != nil {
		return err
	}
	r.defineProgram()
	r.keep()
	r.last = r.now
	return nil
}

func (r *reader) op(row *schemas.OpRow) {
	r.shared.lock.Lock()
	defer r.shared.lock.Unlock()
	if ops := r.shared.definitions.Ops; ops[row.OpID] == nil {
		added := *row
		valid(&added.Name, &added.Prefix, &added.ModulePath, &added.ClassOrAPI)
		ops[row.OpID] = &added
	}
}

func (r *reader) site(row *schemas.SiteRow) {
	r.shared.lock.Lock()
	defer r.shared.lock.Unlock()
	if _, known := r.shared.definitions.Sites[row.SiteID]; !known {
		added := *row
		valid(&added.Path)
		r.shared.definitions.Sites[row.SiteID] = added
	}
}

func (r *reader) layout(row *schemas.LayoutRow) {
	r.shared.lock.Lock()
	defer r.shared.lock.Unlock()
	if layouts := r.shared.definitions.Layouts; layouts[row.LayoutID] == nil {
		added := *row
		valid(&added.Dtype, &added.Placement, &added.Literal)
		layouts[row.LayoutID] = &added
	}
}

func (r *reader) stack(row *schemas.StackRow) {
	r.shared.lock.Lock()
	defer r.shared.lock.Unlock()
	if _, known := r.shared.definitions.Stacks[row.StackID]; !known {
		r.shared.definitions.Stacks[row.StackID] = slices.Clone(row.Frames)
	}
}

// valid replaces what is no text, as stores do.
func valid(texts ...*string) {
	for _, text := range texts {
		if !utf8.ValidString(*text) {
			*text = strings.ToValidUTF8(*text, "\uFFFD")
		}
	}
}

// defineProgram keeps the program of the dump that was read, if it is new.
func (r *reader) defineProgram() {
	if len(r.program) == 0 || r.told[r.program[0].ProgramID] {
		return
	}
	id := r.program[0].ProgramID
	r.told[id] = true
	r.shared.lock.Lock()
	defer r.shared.lock.Unlock()
	if _, known := r.shared.definitions.Programs[id]; !known {
		r.shared.definitions.Programs[id] = slices.Clone(r.program)
	}
}
