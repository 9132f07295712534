// Package rows holds the recorded rows of runs in the form that a comparison reads: facts of a run,
// definitions by their ids, and the tensors of one rank and step column by column. It decides
// nothing. The packages below it read the rows, from the store or from folders of dumps.
package rows

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/tensortap/tensortap/internal/steps"
	"github.com/tensortap/tensortap/schemas"
)

// Why the collector leaves out whole steps.
const (
	StepNotWanted   = "step not wanted"
	BeyondTheBudget = "beyond the budget"
	OnlyTheLoss     = "only the loss" // is recorded of a step beyond the budget, as it was not finite
)

// Place is one step of one rank.
type Place struct{ Rank, Step uint32 }

// Run has the facts about one run, without its tensors.
type Run struct {
	Name      string
	ID        uint64
	Described schemas.RunRow       // its latest description; zero where there is none
	Ranks     []schemas.RankRow    // of each rank its latest start, by rank
	Steps     []schemas.StepRow    // by rank, then step; of several generations the greatest
	Open      []Place              // steps that have tensors and have not ended, by rank, then step
	Requests  []schemas.RequestRow // of the steps of an inference engine, by rank, step, seq
	Stacks    map[Call]uint64      // stack of each call whose stack is known
	Replaced  map[Place][]uint64   // epochs of a step whose observations were replaced later; Tensors leaves them out
	MainDtype string               // float dtype of most of its tensors; empty where it has none
	Unseen    []schemas.UnseenRow  // gaps that were not asked for, by rank, then step
	LeftOut   []schemas.UnseenRow  // how many steps were left out on purpose, at the step that was recorded next, or at the last, by rank, then step
	Missing   []Completeness       // one for each rank, whether it lacks anything or not

	// AllStatistics has Tensors give M2, L1, zeros and subnormal numbers, too: merging needs them, judging does not.
	AllStatistics bool
}

// Call is one position of a program.
type Call struct {
	Program  uint64
	Position uint32
}

// Completeness says of one rank whether all that it produced is there.
type Completeness struct {
	Rank        uint32
	Complete    bool
	Explanation string // the missing parts; empty when it is complete

	Steps, IncompleteSteps    uint64
	Produced, Stored, Dropped uint64 // rows of tensor; for dropped ones also ops
	DropReasons, Unseen       []string
	Batches, MissingBatches   uint64
	DeadLetters, UndefinedIDs uint64
	UnstoredSteps             uint64 // published, and none of them is stored
	LastEventTimeNs           *int64
}

// Definitions are the rows behind ids, of all runs of a comparison.
type Definitions struct {
	Ops      map[uint64]*schemas.OpRow
	Sites    map[uint64]schemas.SiteRow
	Layouts  map[uint64]*schemas.LayoutRow
	Programs map[uint64][]schemas.ProgramRow // by position
	Stacks   map[uint64][]string             // frames, innermost first

	made  sync.Map // layouts of tensors that were made of others, by id
	whole sync.Map // programs that are known whole, by id
}

// HasWhole says whether all of a program is known: each of its calls, and the op of each. It may be called at any time.
func (d *Definitions) HasWhole(program uint64) bool {
	if _, known := d.whole.Load(program); known {
		return true
	}
	var hasher schemas.ProgramHasher
	for _, call := range d.Programs[program] {
		if d.Ops[call.OpID] == nil || call.ParentOpID != 0 && d.Ops[call.ParentOpID] == nil {
			return false
		}
		hasher.Add(call.OpID, call.ParentOpID)
	}
	if hasher.ID() != program {
		return false
	}
	d.whole.Store(program, true)
	return true
}

// Layout is the layout of that id, be it recorded or made; nil where it is not known. It may be called at any time.
func (d *Definitions) Layout(id uint64) *schemas.LayoutRow {
	if l := d.Layouts[id]; l != nil {
		return l
	}
	l, _ := d.made.Load(id)
	row, _ := l.(*schemas.LayoutRow)
	return row
}

// AddLayout adds the layout of a tensor that was made of others, as by merging ranks. It may be called while others read.
func (d *Definitions) AddLayout(l *schemas.LayoutRow) { d.made.Store(l.LayoutID, l) }

// Made are the layouts that were added, by id.
func (d *Definitions) Made() []*schemas.LayoutRow {
	var list []*schemas.LayoutRow
	d.made.Range(func(_, l any) bool {
		if row, ok := l.(*schemas.LayoutRow); ok {
			list = append(list, row)
		}
		return true
	})
	slices.SortFunc(list, func(a, b *schemas.LayoutRow) int { return cmp.Compare(a.LayoutID, b.LayoutID) })
	return list
}

// NewDefinitions is empty.
func NewDefinitions() *Definitions {
	return &Definitions{
		Ops: map[uint64]*schemas.OpRow{}, Sites: map[uint64]schemas.SiteRow{}, Layouts: map[uint64]*schemas.LayoutRow{},
		Programs: map[uint64][]schemas.ProgramRow{}, Stacks: map[uint64][]string{},
	}
}

// Source gives the recorded rows of runs. Its methods may be called at the same time.
//
//nolint:iface // its users are the packages that compare, map and merge
type Source interface {
	// Definitions are those of all runs that were asked for so far.
	Definitions() *Definitions
	// Run has the facts about the run of that name.
	Run(ctx context.Context, name string) (*Run, error)
	// Tensors are the tensors of some places of a run; a place without any is absent. A rank is read once per
	// call, whole places at a time, so callers ask for as many as they can hold.
	Tensors(ctx context.Context, run *Run, places []Place) (map[Place]*Tensors, error)
}

// StepAt is the end of a step; nil where it has not ended.
func (r *Run) StepAt(place Place) *schemas.StepRow {
	i, found := slices.BinarySearchFunc(r.Steps, place, func(s schemas.StepRow, p Place) int {
		return cmp.Or(cmp.Compare(s.Rank, p.Rank), cmp.Compare(s.Step, p.Step))
	})
	if !found {
		return nil
	}
	return &r.Steps[i]
}

// CheckRank says whether a run has that rank, if one is asked for: else every answer would be empty.
func (r *Run) CheckRank(rank int64) error {
	if rank < 0 || len(r.Ranks) == 0 {
		return nil
	}
	var ranks []uint32
	for i := range r.Ranks {
		if int64(r.Ranks[i].Rank) == rank {
			return nil
		}
		ranks = append(ranks, r.Ranks[i].Rank)
	}
	return fmt.Errorf("run %s has no rank %d; its ranks: %s", r.Name, rank, steps.Spans(ranks))
}
