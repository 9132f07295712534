package store

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/schemas"
)

// Follower reads runs again and again as they grow. A look counts rows, and reads only facts of what has other rows than
// it had. Its methods must not be called at the same time.
type Follower struct {
	source *Source
	runs   []*Followed
	counts counts
	absent map[uint64]bool // ids that nothing defined when they were asked for
}

// Follow begins to follow runs, which need not exist yet.
func (s *Source) Follow(names ...string) *Follower {
	f := &Follower{source: s, absent: map[uint64]bool{}}
	for _, name := range names {
		f.runs = append(f.runs, newFollowed(name))
	}
	return f
}

// Runs are those that are followed, in the order of their names.
func (f *Follower) Runs() []*Followed { return f.runs }

// Look reads what came since the last look, and says whether anything did. Steps of a run before its first step of
// interest are forgotten, but for one of each program.
func (f *Follower) Look(ctx context.Context, first []uint32) (news bool, err error) {
	now, err := f.count(ctx)
	if err != nil {
		return false, fmt.Errorf("count the rows of runs: %w", err)
	}
	if maps.Equal(now, f.counts) {
		return false, nil
	}
	group, readCtx := errgroup.WithContext(ctx)
	for i, run := range f.runs {
		group.Go(func() error {
			if err := run.read(readCtx, f.source, growth{run.Run.ID, f.counts, now}, first[i]); err != nil {
				return fmt.Errorf("read run %s: %w", run.Run.Name, err)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return false, err
	}
	if (growth{before: f.counts, now: now}).ofDefinitions() {
		clear(f.absent)
	}
	f.counts = now
	return true, nil
}

// Define reads the definitions of what tensors refer to and is not known yet. What nothing defines is asked for again
// only once there are more definitions.
func (f *Follower) Define(ctx context.Context, read ...map[rows.Place]*rows.Tensors) error {
	have := f.source.Definitions()
	sites, layouts, a := map[uint64]bool{}, map[uint64]bool{}, &asked{}
	for _, places := range read {
		for _, t := range places {
			f.unknownSites(have, t, sites, a)
			unknown(t.LayoutID, have.Layouts, f.absent, layouts)
		}
	}
	if len(sites)+len(layouts)+len(a.sites) == 0 {
		return nil
	}
	wanted := slices.Concat(slices.Collect(maps.Keys(sites)), slices.Collect(maps.Keys(layouts)), opsToAsk(have, a))
	known, err := f.source.learnIDs(ctx, a, sites, layouts)
	if err != nil {
		return fmt.Errorf("read definitions: %w", err)
	}
	for _, id := range wanted {
		_, isSite := known.Sites[id]
		f.absent[id] = !isSite && known.Layouts[id] == nil && known.Ops[id] == nil
	}
	return nil
}

// unknownSites adds the sites of tensors that are not known, and those whose op is not.
func (f *Follower) unknownSites(have *rows.Definitions, t *rows.Tensors, sites map[uint64]bool, a *asked) {
	unknown(t.SiteID, have.Sites, f.absent, sites)
	for _, id := range t.SiteID {
		if site, known := have.Sites[id]; known && have.Ops[site.OpID] == nil && !f.absent[site.OpID] {
			a.sites = append(a.sites, site)
		}
	}
}

func unknown[V any](ids []uint64, known map[uint64]V, absent, into map[uint64]bool) {
	for _, id := range ids {
		if _, found := known[id]; !found && !absent[id] {
			into[id] = true
		}
	}
}

// counts is how many rows there are.
type counts map[rowsOfKind]uint64

// rowsOfKind are those of one table that a producer of a run wrote; of tables without producers, of the run.
type rowsOfKind struct {
	kind string
	run  uint64
	producer
}

// definitionRows are those of all definitions that are read by their ids.
func definitionRows() rowsOfKind { return rowsOfKind{kind: "definitions"} }

const (
	stepKind         = "step"
	runKind          = "run"
	rankKind         = "rank"
	requestKind      = "request"
	programStackKind = "program_stack"
)

// count counts the rows of all runs by one question, those of tensors by the projection ledger.
func (f *Follower) count(ctx context.Context) (counts, error) {
	ids := make([]uint64, len(f.runs))
	for i, run := range f.runs {
		ids[i] = run.Run.ID
	}
	found := counts{}
	err := f.source.each(ctx, countQuery(list(ids)), func(record arrow.RecordBatch) error {
		kind, run, rank, epoch, count := texts(record, 0), uint64s(record, 1), uint32s(record, 2), uint64s(record, 3), uint64s(record, 4)
		for i := range run {
			found[rowsOfKind{strings.Clone(kind.Value(i)), run[i], producer{rank[i], epoch[i]}}] = count[i]
		}
		return nil
	})
	return found, err
}

func countQuery(runs string) string {
	var q strings.Builder
	for _, kind := range []string{tensorKind, stepKind, requestKind} {
		fmt.Fprintf(&q, "SELECT '%s' AS kind, run_id, rank, epoch, count() AS row_count FROM tap_store.%s WHERE run_id IN (%s) GROUP BY run_id, rank, epoch UNION ALL ", kind, kind, runs)
	}
	for _, kind := range []string{runKind, rankKind, programStackKind} {
		fmt.Fprintf(&q, "SELECT '%s' AS kind, run_id, toUInt32(0) AS rank, toUInt64(0) AS epoch, count() AS row_count FROM tap_store.%s WHERE run_id IN (%s) GROUP BY run_id UNION ALL ", kind, kind, runs)
	}
	q.WriteString(`SELECT 'definitions' AS kind, toUInt64(0) AS run_id, toUInt32(0) AS rank, toUInt64(0) AS epoch, ifNull(sum(total_rows), 0) AS row_count
		FROM system.tables WHERE database = 'tap_store' AND name IN ('op', 'site', 'layout', 'program', 'stack')`)
	return q.String()
}

// growth is how the rows of a run changed since the last look.
type growth struct {
	run         uint64
	before, now counts
}

// of says whether the run has other rows of a kind.
func (g growth) of(kind string) bool { return len(g.producers(kind)) > 0 }

// ofDefinitions says whether there are other definitions.
func (g growth) ofDefinitions() bool { return g.now[definitionRows()] != g.before[definitionRows()] }

// producers are those that have other rows of a kind.
func (g growth) producers(kind string) []producer {
	var changed []producer
	for _, some := range []counts{g.now, g.before} {
		for of := range some {
			if of.kind == kind && of.run == g.run && g.now[of] != g.before[of] && !slices.Contains(changed, of.producer) {
				changed = append(changed, of.producer)
			}
		}
	}
	return changed
}

// total is how many rows of a kind the run has.
func (g growth) total(kind string) uint64 {
	var total uint64
	for of, count := range g.now {
		if of.kind == kind && of.run == g.run {
			total += count
		}
	}
	return total
}

// Exists says whether the run was described.
func (r *Followed) Exists() bool { return r.Run.Described.RunID != 0 }

// latestOf reads a small table of a run anew.
func latestOf[R any, P schemas.Row[R]](ctx context.Context, s *Source, run uint64, take func([]R)) error {
	found, err := clickhouse.Rows[R, P](ctx, s.database, fmt.Sprintf("run_id = %d", run))
	if err != nil {
		return err
	}
	take(found)
	return nil
}
