package msprobecompare

import (
	"slices"
	"strings"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// place is one step of one rank of the problem, and what it is held against.
type place struct {
	rank, step, benchRank, benchStep uint32
	problemProgram, benchProgram     uint64
}

func (p place) at() rows.Place      { return rows.Place{Rank: p.rank, Step: p.step} }
func (p place) partner() rows.Place { return rows.Place{Rank: p.benchRank, Step: p.benchStep} }

// pairPlaces pairs the steps that ended: ranks in the order of their numbers where both runs have as many of them.
func pairPlaces(problem, bench *rows.Run, r Request) []place {
	own, other := ranksOf(problem), ranksOf(bench)
	var places []place
	for i := range problem.Steps {
		s := &problem.Steps[i]
		if r.Rank >= 0 && int64(s.Rank) != r.Rank || !r.Steps.Contains(int64(s.Step)) {
			continue
		}
		partner := s.Rank
		if len(own) == len(other) {
			at, _ := slices.BinarySearch(own, s.Rank)
			partner = other[at]
		}
		step := int64(s.Step) + r.StepOffset
		if step < 0 || step > int64(^uint32(0)) {
			continue
		}
		if b := bench.StepAt(rows.Place{Rank: partner, Step: uint32(step)}); b != nil {
			places = append(places, place{s.Rank, s.Step, b.Rank, b.Step, s.ProgramID, b.ProgramID})
		}
	}
	return places
}

// ranksOf are those that ended a step.
func ranksOf(run *rows.Run) []uint32 {
	var ranks []uint32
	for i := range run.Steps {
		ranks = append(ranks, run.Steps[i].Rank)
	}
	return slices.Compact(ranks)
}

// files are the names of the files of raw tensors.
type files struct {
	sites map[uint64]bool
	names map[rows.Place]map[uint64]string // by site
}

// filesOf takes, of several files of one tensor, the one whose location is the least.
func filesOf(kept []schemas.PayloadRow) files {
	f := files{sites: map[uint64]bool{}, names: map[rows.Place]map[uint64]string{}}
	slices.SortStableFunc(kept, func(a, b schemas.PayloadRow) int { return strings.Compare(a.Location, b.Location) })
	for i := range kept {
		p := &kept[i]
		at := rows.Place{Rank: p.Rank, Step: p.Step}
		f.sites[p.SiteID] = true
		if f.names[at] == nil {
			f.names[at] = map[uint64]string{}
		}
		if _, known := f.names[at][p.SiteID]; !known {
			f.names[at][p.SiteID] = p.Location[strings.LastIndexByte(p.Location, '/')+1:]
		}
	}
	return f
}

func (f files) keep(site uint64) bool { return f.sites[site] }

// frames are the call stacks of the ops of the program that was asked for last.
type frames struct {
	definitions *rows.Definitions
	run         *rows.Run
	program     uint64
	stacks      map[uint64]uint64 // by op
}

// of is the stack of an op, innermost first; none where it is not known.
func (f *frames) of(program, op uint64) []string {
	if f.stacks == nil || f.program != program {
		f.program, f.stacks = program, map[uint64]uint64{}
		for _, call := range f.definitions.Programs[program] {
			stack, found := f.run.Stacks[rows.Call{Program: program, Position: call.Position}]
			if _, known := f.stacks[call.OpID]; found && !known {
				f.stacks[call.OpID] = stack
			}
		}
	}
	stack, known := f.stacks[op]
	if !known {
		return nil
	}
	return f.definitions.Stacks[stack]
}
