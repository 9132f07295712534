package watch

import (
	"cmp"
	"slices"

	"github.com/tensortap/tensortap/analysis/origin"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/rows"
)

// sight is both runs as they were judged.
type sight struct {
	problem, bench *rows.Run
	definitions    *rows.Definitions
}

// locate adds module and user frame, where a step with that op has ended in either run.
func (f *found) locate(e *report.WatchEvent) {
	op := f.in.definitions.Sites[f.first.Own().SiteID].OpID
	for _, in := range []struct {
		run *rows.Run
		at  rows.Place
	}{{f.in.problem, problemPlace(f.place.at)}, {f.in.bench, benchPlace(f.place.at)}} {
		module, frame, found := callOf(in.run, in.at, op, f.in.definitions)
		if found {
			e.Module, e.UserFrame = module, frame
		}
		if e.UserFrame != "" {
			return
		}
	}
}

// callOf gives the module and the user's line of an op's call in a run. The program of the place counts first, then
// those of its rank.
func callOf(run *rows.Run, at rows.Place, op uint64, definitions *rows.Definitions) (module, userFrame string, found bool) {
	for _, program := range programsAt(run, at) {
		if call, calls := definitions.Call(program, op); calls {
			return definitions.Module(call), origin.NewFrames().User(definitions.Frames(run, call)), true
		}
	}
	return "", "", false
}

// programsAt are the programs of a run, those that ran nearest to a place first.
func programsAt(run *rows.Run, at rows.Place) []uint64 {
	type candidate struct {
		distance int
		program  uint64
	}
	var all []candidate
	for i := range run.Steps {
		distance := 2
		switch s := &run.Steps[i]; {
		case s.Rank == at.Rank && s.Step == at.Step:
			distance = 0
		case s.Rank == at.Rank:
			distance = 1
		}
		all = append(all, candidate{distance, run.Steps[i].ProgramID})
	}
	slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var programs []uint64
	for _, c := range all {
		if !slices.Contains(programs, c.program) {
			programs = append(programs, c.program)
		}
	}
	return programs
}
