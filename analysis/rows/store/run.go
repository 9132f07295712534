package store

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/schemas"
)

// asked is what the first round of questions about a run answers.
type asked struct {
	runs      []schemas.RunRow
	ranks     []schemas.RankRow
	steps     []schemas.StepRow // of all epochs
	requests  []schemas.RequestRow
	calls     []schemas.ProgramStackRow
	batches   []batches
	census    []counted
	unseen    []unseen
	refused   map[uint32]uint64 // dead letters of each rank
	undefined map[uint32]uint64 // ids of each rank that nothing defines
	unstored  map[uint32]uint64 // steps of each rank that were published and are not stored
	programs  []schemas.ProgramRow
	ops       []schemas.OpRow
	sites     []schemas.SiteRow
	stacks    []schemas.StackRow
	questions *errgroup.Group
}

// questionsAtOnce bounds how many queries about one run the database has at a time.
const questionsAtOnce = 4

// Run reads what is known of a run beside its tensors, and its definitions. A run that nothing is known of has no ranks.
func (s *Source) Run(ctx context.Context, name string) (*rows.Run, error) {
	id := schemas.RunID(name)
	a, err := s.askAll(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", name, err)
	}
	run, err := s.assemble(ctx, a, name, id)
	if err != nil {
		return nil, fmt.Errorf("read run %s: %w", name, err)
	}
	return run, nil
}

func (s *Source) askAll(ctx context.Context, id uint64) (*asked, error) {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(questionsAtOnce)
	a := &asked{questions: group}
	ofRun := fmt.Sprintf("run_id = %d", id)
	// The census takes longest, so it is asked first.
	group.Go(func() (err error) { a.census, err = s.census(ctx, id); return err })
	group.Go(func() (err error) { a.batches, err = s.batches(ctx, id); return err })
	group.Go(func() error { return s.refuseWithoutDetails(ctx, id) })
	ask(ctx, s, a, &a.steps, ofRun)
	askPrograms(ctx, s, a, fmt.Sprintf("(SELECT program_id FROM tap_store.step WHERE run_id = %d)", id))
	askStacks(ctx, s, a, id)
	ask(ctx, s, a, &a.runs, ofRun)
	ask(ctx, s, a, &a.ranks, ofRun)
	ask(ctx, s, a, &a.requests, ofRun)
	group.Go(func() (err error) { a.unseen, err = s.unseen(ctx, id); return err })
	group.Go(func() (err error) { a.refused, err = s.refused(ctx, id); return err })
	if s.Unstored != nil {
		group.Go(func() (err error) { a.unstored, err = s.Unstored(ctx, id); return err })
	}
	return a, group.Wait()
}

// refuseWithoutDetails is an error for a run whose details retention removed: its steps are there, and nothing to compare in them.
func (s *Source) refuseWithoutDetails(ctx context.Context, id uint64) error {
	return s.each(ctx, fmt.Sprintf("SELECT max(decided_time_ns) FROM tap_store.removal WHERE run_id = %d AND part = 'details' HAVING count() > 0", id),
		func(record arrow.RecordBatch) error {
			if record.NumRows() == 0 {
				return nil
			}
			at := record.Column(0).(*array.Int64).Value(0) //nolint:errcheck // as the table has it
			return fmt.Errorf("retention removed its tensors on %s: the report trend has their aggregates, the report comparisons what was said of it before",
				time.Unix(0, at).UTC().Format("2006-01-02 15:04:05 UTC"))
		})
}

// ask has a question answered into rows. Each question writes to rows of its own.
func ask[R any, P schemas.Row[R]](ctx context.Context, s *Source, a *asked, into *[]R, condition string) {
	a.questions.Go(func() (err error) {
		*into, err = clickhouse.Rows[R, P](ctx, s.database, condition)
		return err
	})
}

// askPrograms asks for programs of those ids, and for their ops and sites.
func askPrograms(ctx context.Context, s *Source, a *asked, ids string) {
	ops := "(SELECT arrayJoin([op_id, parent_op_id]) FROM tap_store.program WHERE program_id IN " + ids + ")"
	ask(ctx, s, a, &a.programs, "program_id IN "+ids)
	ask(ctx, s, a, &a.ops, "op_id IN "+ops)
	ask(ctx, s, a, &a.sites, "op_id IN "+ops)
}

// askStacks asks for the stacks of the calls of a run's programs.
func askStacks(ctx context.Context, s *Source, a *asked, run uint64) {
	ask(ctx, s, a, &a.calls, fmt.Sprintf("run_id = %d", run))
	ask(ctx, s, a, &a.stacks, fmt.Sprintf("stack_id IN (SELECT stack_id FROM tap_store.program_stack WHERE run_id = %d)", run))
}

// assemble makes of the answers what a comparison reads; it asks again for what only they tell that it is needed.
func (s *Source) assemble(ctx context.Context, a *asked, name string, id uint64) (*rows.Run, error) {
	run := &rows.Run{Name: name, ID: id, Ranks: latestStarts(a.ranks), Stacks: stacksOf(a.calls), Described: latest(a.runs)}
	defined, err := s.define(ctx, a)
	if err != nil {
		return nil, err
	}
	run.MainDtype = mainDtype(a.census, defined.Layouts)
	begun, err := s.begun(ctx, id, a)
	if err != nil {
		return nil, err
	}
	e := sortEpochs(a.steps, begun, ofFiles(a.runs), nil)
	run.Steps, run.Open, run.Replaced = e.kept, e.open, e.replaced
	run.Requests = visibleRequests(a.requests, e)
	run.Unseen, run.LeftOut = visibleUnseen(id, a.unseen, e), leftOut(id, a.unseen, e)
	if mayLack(a, defined) {
		if a.undefined, err = s.undefined(ctx, id); err != nil {
			return nil, err
		}
	}
	run.Missing = balance(a, e, run)
	return run, nil
}

// latest is the description that counts.
func latest(described []schemas.RunRow) schemas.RunRow {
	var last schemas.RunRow
	for _, r := range described {
		if last.RunID == 0 || cmp.Or(cmp.Compare(r.FirstEventTimeNs, last.FirstEventTimeNs), cmp.Compare(r.Epoch, last.Epoch)) > 0 {
			last = r
		}
	}
	return last
}

// ofFiles says whether the run was read from files: one epoch of a step is then another reading of the same step.
func ofFiles(described []schemas.RunRow) bool {
	return slices.ContainsFunc(described, func(r schemas.RunRow) bool { return r.EventTimeSource == "file" })
}

// latestStarts keeps of each rank its latest start; one without time is the oldest.
func latestStarts(starts []schemas.RankRow) []schemas.RankRow {
	slices.SortFunc(starts, func(a, b schemas.RankRow) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), compareTimes(b.StartedTimeNs, a.StartedTimeNs), cmp.Compare(b.Epoch, a.Epoch))
	})
	return slices.CompactFunc(starts, func(a, b schemas.RankRow) bool { return a.Rank == b.Rank })
}

func compareTimes(a, b *int64) int {
	if a == nil || b == nil {
		return cmp.Compare(known(a), known(b))
	}
	return cmp.Compare(*a, *b)
}

func known(time *int64) int {
	if time == nil {
		return 0
	}
	return 1
}

// stacksOf keeps of several stacks of a call the one of the least id, as ranks may differ.
func stacksOf(calls []schemas.ProgramStackRow) map[rows.Call]uint64 {
	stacks := make(map[rows.Call]uint64, len(calls))
	for _, c := range calls {
		call := rows.Call{Program: c.ProgramID, Position: c.Position}
		if least, found := stacks[call]; !found || c.StackID < least {
			stacks[call] = c.StackID
		}
	}
	return stacks
}

func visibleRequests(requests []schemas.RequestRow, e epochs) []schemas.RequestRow {
	requests = slices.DeleteFunc(requests, func(r schemas.RequestRow) bool {
		return slices.Contains(e.replaced[rows.Place{Rank: r.Rank, Step: r.Step}], r.Epoch)
	})
	slices.SortFunc(requests, func(a, b schemas.RequestRow) int {
		return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Step, b.Step), cmp.Compare(a.Seq, b.Seq))
	})
	return requests
}
