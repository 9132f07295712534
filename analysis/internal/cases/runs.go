package cases

import (
	"cmp"
	"slices"
	"testing"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Runs are the facts of a case in the form that a comparison reads, and its tensors.
type Runs struct {
	Problem, Bench *rows.Run
	Definitions    *rows.Definitions
	tensors        map[uint64]map[rows.Place]*rows.Tensors
}

// Tensors are those of a place of a run; nil where it has none.
func (r *Runs) Tensors(run *rows.Run, rank, step uint32) *rows.Tensors {
	return r.tensors[run.ID][rows.Place{Rank: rank, Step: step}]
}

// RunsOf reads the runs problem and bench of a case, but for what they lack (rows.Run.Missing) and their main dtype.
func RunsOf(tb testing.TB, c *Case) *Runs {
	tb.Helper()
	l := loader{
		steps: RowsOf[schemas.StepRow](tb, c), tensors: RowsOf[schemas.TensorRow](tb, c),
		runs: RowsOf[schemas.RunRow](tb, c), ranks: RowsOf[schemas.RankRow](tb, c), requests: RowsOf[schemas.RequestRow](tb, c),
		stacks: RowsOf[schemas.ProgramStackRow](tb, c),
	}
	r := &Runs{Definitions: definitionsOf(tb, c), tensors: map[uint64]map[rows.Place]*rows.Tensors{}}
	r.Problem, r.Bench = l.run("problem", r.tensors), l.run("bench", r.tensors)
	return r
}

func definitionsOf(tb testing.TB, c *Case) *rows.Definitions {
	tb.Helper()
	d := rows.NewDefinitions()
	for _, op := range RowsOf[schemas.OpRow](tb, c) {
		d.Ops[op.OpID] = &op
	}
	for _, site := range RowsOf[schemas.SiteRow](tb, c) {
		d.Sites[site.SiteID] = site
	}
	for _, layout := range RowsOf[schemas.LayoutRow](tb, c) {
		d.Layouts[layout.LayoutID] = &layout
	}
	for _, row := range RowsOf[schemas.ProgramRow](tb, c) {
		d.Programs[row.ProgramID] = append(d.Programs[row.ProgramID], row)
	}
	for _, list := range d.Programs {
		slices.SortFunc(list, func(a, b schemas.ProgramRow) int { return cmp.Compare(a.Position, b.Position) })
	}
	for _, stack := range RowsOf[schemas.StackRow](tb, c) {
		d.Stacks[stack.StackID] = stack.Frames
	}
	return d
}

// loader picks a run's rows out of those of all runs, as the views of the lowest layers do.
type loader struct {
	runs     []schemas.RunRow
	ranks    []schemas.RankRow
	steps    []schemas.StepRow
	tensors  []schemas.TensorRow
	requests []schemas.RequestRow
	stacks   []schemas.ProgramStackRow
}

func (l *loader) run(name string, tensors map[uint64]map[rows.Place]*rows.Tensors) *rows.Run {
	run := &rows.Run{Name: name, ID: schemas.RunID(name), Stacks: map[rows.Call]uint64{}}
	for _, row := range l.runs {
		if row.RunID == run.ID && row.FirstEventTimeNs >= run.Described.FirstEventTimeNs {
			run.Described = row
		}
	}
	for _, row := range l.stacks {
		if row.RunID == run.ID {
			run.Stacks[rows.Call{Program: row.ProgramID, Position: row.Position}] = row.StackID
		}
	}
	run.Ranks = l.ranksOf(run.ID)
	run.Steps = l.stepsOf(run.ID)
	tensors[run.ID] = l.tensorsOf(run)
	run.Requests = l.requestsOf(run)
	run.Open = openOf(run, tensors[run.ID])
	return run
}

// ranksOf keeps of each rank its latest start.
func (l *loader) ranksOf(run uint64) []schemas.RankRow {
	list := slices.DeleteFunc(slices.Clone(l.ranks), func(r schemas.RankRow) bool { return r.RunID != run })
	slices.SortStableFunc(list, func(a, b schemas.RankRow) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(started(&b), started(&a)), cmp.Compare(b.Epoch, a.Epoch))
	})
	return slices.CompactFunc(list, func(a, b schemas.RankRow) bool { return a.Rank == b.Rank })
}

func started(r *schemas.RankRow) int64 {
	if r.StartedTimeNs == nil {
		return -1
	}
	return *r.StartedTimeNs
}

// stepsOf keeps of each step that of the greatest generation.
func (l *loader) stepsOf(run uint64) []schemas.StepRow {
	list := slices.DeleteFunc(slices.Clone(l.steps), func(s schemas.StepRow) bool { return s.RunID != run })
	slices.SortStableFunc(list, func(a, b schemas.StepRow) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Step, b.Step), cmp.Compare(b.Generation, a.Generation),
			cmp.Compare(b.EventTimeNs, a.EventTimeNs), cmp.Compare(b.Epoch, a.Epoch))
	})
	return slices.CompactFunc(list, func(a, b schemas.StepRow) bool { return a.Rank == b.Rank && a.Step == b.Step })
}

func (l *loader) tensorsOf(run *rows.Run) map[rows.Place]*rows.Tensors {
	list := slices.DeleteFunc(slices.Clone(l.tensors), func(r schemas.TensorRow) bool {
		return r.RunID != run.ID || l.superseded(run, r.Rank, r.Step, r.Epoch)
	})
	slices.SortStableFunc(list, func(a, b schemas.TensorRow) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.SiteID, b.SiteID))
	})
	places := map[rows.Place]*rows.Tensors{}
	for i := range list {
		at := rows.Place{Rank: list[i].Rank, Step: list[i].Step}
		if places[at] == nil {
			places[at] = &rows.Tensors{}
		}
		places[at].Append(&list[i])
	}
	return places
}

func (l *loader) requestsOf(run *rows.Run) []schemas.RequestRow {
	list := slices.DeleteFunc(slices.Clone(l.requests), func(r schemas.RequestRow) bool {
		return r.RunID != run.ID || l.superseded(run, r.Rank, r.Step, r.Epoch)
	})
	slices.SortStableFunc(list, func(a, b schemas.RequestRow) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Step, b.Step), cmp.Compare(a.Seq, b.Seq))
	})
	return list
}

// superseded says whether other observations of the step took the place of these, as tap.superseded_steps does.
func (l *loader) superseded(run *rows.Run, rank, step uint32, epoch uint64) bool {
	at := slices.IndexFunc(run.Steps, func(s schemas.StepRow) bool { return s.Rank == rank && s.Step == step })
	if at < 0 || run.Steps[at].Epoch == epoch {
		return false
	}
	if run.Steps[at].Generation > 0 || run.Described.EventTimeSource == "file" {
		return true
	}
	return slices.ContainsFunc(l.steps, func(s schemas.StepRow) bool {
		return s.RunID == run.ID && s.Rank == rank && s.Step == step && s.Epoch == epoch
	})
}

// openOf are the places that have tensors and did not end.
func openOf(run *rows.Run, tensors map[rows.Place]*rows.Tensors) []rows.Place {
	var open []rows.Place
	for at := range tensors {
		if !slices.ContainsFunc(run.Steps, func(s schemas.StepRow) bool { return s.Rank == at.Rank && s.Step == at.Step }) {
			open = append(open, at)
		}
	}
	slices.SortFunc(open, func(a, b rows.Place) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Step, b.Step))
	})
	return open
}
