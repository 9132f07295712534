package store

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/schemas"
)

// Followed is a run that grows, as it was at the last look.
type Followed struct {
	// Run has what is known of it, but for what was not observed and what is missing; of steps before the first of
	// interest, one of each program. It changes with each look.
	Run *rows.Run
	// Standing is how far it is with each place, from the first step of interest on.
	Standing map[rows.Place]Standing
	// Surveyed is how many tensors it had when its main dtype was found.
	Surveyed uint64

	changed   map[rows.Place]bool
	ended     map[observed]schemas.StepRow
	begun     map[observed]uint64 // tensors
	finished  map[producer]bool   // epochs that ended a step which is forgotten
	requests  []schemas.RequestRow
	fromFiles bool
}

// Standing is how far a rank is with a step.
type Standing struct {
	Rows, Produced, Dropped uint64
	Ended, Complete         bool
	Program, Epoch          uint64 // of the end
	Reason                  string // why rows were dropped
}

func newFollowed(name string) *Followed {
	return &Followed{
		Run:     &rows.Run{Name: name, ID: schemas.RunID(name), Stacks: map[rows.Call]uint64{}},
		changed: map[rows.Place]bool{}, ended: map[observed]schemas.StepRow{}, begun: map[observed]uint64{}, finished: map[producer]bool{},
	}
}

// TakeChanged are the places that stand otherwise than when it was called last, in any order.
func (r *Followed) TakeChanged() []rows.Place {
	changed := slices.Collect(maps.Keys(r.changed))
	clear(r.changed)
	return changed
}

// read reads what has other rows than it had. It may be called again after an error.
func (r *Followed) read(ctx context.Context, s *Source, g growth, first uint32) error {
	if err := r.readFacts(ctx, s, g, first); err != nil {
		return err
	}
	r.sort(first)
	if err := r.readPrograms(ctx, s, g); err != nil {
		return err
	}
	if g.of(programStackKind) {
		return r.readStacks(ctx, s)
	}
	return nil
}

func (r *Followed) readFacts(ctx context.Context, s *Source, g growth, first uint32) error {
	group, ctx := errgroup.WithContext(ctx)
	when := func(kind string, read func() error) {
		if g.of(kind) {
			group.Go(read)
		}
	}
	when(runKind, func() error {
		return latestOf(ctx, s, g.run, func(found []schemas.RunRow) { r.Run.Described, r.fromFiles = latest(found), ofFiles(found) })
	})
	when(rankKind, func() error {
		return latestOf(ctx, s, g.run, func(found []schemas.RankRow) { r.Run.Ranks = latestStarts(found) })
	})
	when(requestKind, func() error {
		return latestOf(ctx, s, g.run, func(found []schemas.RequestRow) { r.requests = found })
	})
	when(stepKind, func() error { return r.readEnds(ctx, s, g, first) })
	when(tensorKind, func() error { return r.readBegun(ctx, s, g, first) })
	// The dtype of most tensors seldom changes, so it is found anew when the run has twice as many.
	if total := g.total(tensorKind); total >= 2*max(r.Surveyed, 1) {
		group.Go(func() error { return r.survey(ctx, s, total) })
	}
	return group.Wait()
}

func (r *Followed) readEnds(ctx context.Context, s *Source, g growth, first uint32) error {
	found, err := clickhouse.Rows[schemas.StepRow](ctx, s.database, fmt.Sprintf("run_id = %d AND step >= %d AND (rank, epoch) IN (%s)", g.run, first, producers(g.producers(stepKind))))
	if err != nil {
		return err
	}
	for _, step := range found {
		at := observed{rows.Place{Rank: step.Rank, Step: step.Step}, step.Epoch}
		if known, again := r.ended[at]; !again || known.Generation <= step.Generation {
			r.ended[at] = step
		}
	}
	return nil
}

// readBegun counts the tensors of each step that the producers wrote which wrote any since.
func (r *Followed) readBegun(ctx context.Context, s *Source, g growth, first uint32) error {
	query := fmt.Sprintf("SELECT rank, step, epoch, count() FROM tap_store.tensor WHERE run_id = %d AND step >= %d AND (rank, epoch) IN (%s) GROUP BY rank, step, epoch",
		g.run, first, producers(g.producers(tensorKind)))
	err := s.each(ctx, query, func(record arrow.RecordBatch) error {
		rank, step, epoch, count := uint32s(record, 0), uint32s(record, 1), uint64s(record, 2), uint64s(record, 3)
		for i := range rank {
			r.begun[observed{rows.Place{Rank: rank[i], Step: step[i]}, epoch[i]}] = count[i]
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("count tensors of steps: %w", err)
	}
	return nil
}

func (r *Followed) survey(ctx context.Context, s *Source, total uint64) error {
	var census []counted
	layouts := map[uint64]bool{}
	query := fmt.Sprintf("SELECT layout_id, count() FROM tap_store.tensor WHERE run_id = %d GROUP BY layout_id", r.Run.ID)
	err := s.each(ctx, query, func(record arrow.RecordBatch) error {
		ids, counts := uint64s(record, 0), uint64s(record, 1)
		for i := range ids {
			census = append(census, counted{layout: ids[i], rows: counts[i]})
			layouts[ids[i]] = true
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("count layouts: %w", err)
	}
	known, err := s.learnIDs(ctx, &asked{}, nil, layouts)
	if err != nil {
		return err
	}
	r.Run.MainDtype = mainDtype(census, known.Layouts)
	if !slices.ContainsFunc(census, func(c counted) bool { return known.Layouts[c.layout] == nil }) {
		r.Surveyed = total
	}
	return nil
}

// sort tells what counts from what was replaced, and notes which places stand otherwise than before.
func (r *Followed) sort(first uint32) {
	r.forget(first)
	begun := slices.Collect(maps.Keys(r.begun))
	e := sortEpochs(slices.Collect(maps.Values(r.ended)), begun, r.fromFiles, r.finished)
	r.Run.Steps, r.Run.Open, r.Run.Replaced = e.kept, e.open, e.replaced
	r.Run.Requests = visibleRequests(slices.Clone(r.requests), e)
	now := r.standing(e, first)
	for at, standing := range now {
		if before, known := r.Standing[at]; !known || before != standing {
			r.changed[at] = true
		}
	}
	r.Standing = now
}

func (r *Followed) standing(e epochs, first uint32) map[rows.Place]Standing {
	now := make(map[rows.Place]Standing, len(r.begun))
	for i := range e.kept {
		end := &e.kept[i]
		if end.Step < first {
			continue
		}
		now[rows.Place{Rank: end.Rank, Step: end.Step}] = Standing{
			Produced: end.TensorCount, Dropped: end.DroppedCount, Ended: true, Complete: end.Complete == 1, Program: end.ProgramID,
			Epoch: end.Epoch, Reason: end.DropReason,
		}
	}
	for o, count := range r.begun {
		if !slices.Contains(e.replaced[o.place], o.epoch) {
			standing := now[o.place]
			standing.Rows += count
			now[o.place] = standing
		}
	}
	return now
}

// forget lets go of steps before the first of interest, but for one of each program.
func (r *Followed) forget(first uint32) {
	maps.DeleteFunc(r.begun, func(o observed, _ uint64) bool { return o.place.Step < first })
	var before []observed
	for o := range r.ended {
		if o.place.Step < first {
			before = append(before, o)
		}
	}
	slices.SortFunc(before, func(a, b observed) int { return comparePlaces(a.place, b.place) })
	sampled := map[uint64]bool{}
	for _, o := range before {
		r.finished[producer{o.place.Rank, o.epoch}] = true
		if program := r.ended[o].ProgramID; !sampled[program] {
			sampled[program] = true
			continue
		}
		delete(r.ended, o)
	}
}

// readPrograms reads the programs of steps that are not known yet; where there are more definitions, also those known in part.
func (r *Followed) readPrograms(ctx context.Context, s *Source, g growth) error {
	missing, have := map[uint64]bool{}, s.Definitions()
	for i := range r.Run.Steps {
		if id := r.Run.Steps[i].ProgramID; id != 0 && !missing[id] && (have.Programs[id] == nil || g.ofDefinitions() && !have.HasWhole(id)) {
			missing[id] = true
		}
	}
	for some := range slices.Chunk(slices.Collect(maps.Keys(missing)), idsAtOnce) {
		group, askCtx := errgroup.WithContext(ctx)
		a := &asked{questions: group}
		askPrograms(askCtx, s, a, "("+list(some)+")")
		if err := group.Wait(); err != nil {
			return err
		}
		if len(a.programs) > 0 {
			s.learn(a, nil)
		}
	}
	return nil
}

// readStacks reads where the calls of the run's programs stand in the user's code.
func (r *Followed) readStacks(ctx context.Context, s *Source) error {
	group, askCtx := errgroup.WithContext(ctx)
	a := &asked{questions: group}
	askStacks(askCtx, s, a, r.Run.ID)
	if err := group.Wait(); err != nil {
		return err
	}
	r.Run.Stacks = stacksOf(a.calls)
	s.learn(a, nil)
	return nil
}
