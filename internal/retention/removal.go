package retention

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/consumers/parquet"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// Removal removes deleted runs, and parts of runs, from the stores of a process that writes them. Stores that are nil are others' matter. Its calls
// must not overlap.
type Removal struct {
	Stream   *Stream
	Database driver.Conn
	Tables   *clickhouse.Writer
	Archive  *parquet.Writer
	Local    Local
	Deleted  *Deleted
	// Agreed, unless it is nil, is an error until no other process stores anything of what goes in the tables.
	Agreed func(ctx context.Context, going *pipelines.Going) error
	// Copied, unless it is nil, removes kinds of a run's events, all if none is named, from the copy of the archive, once the
	// archive no longer has them.
	Copied func(ctx context.Context, runID uint64, kinds ...string) error
	// Step, unless it is nil, is told before each step, and refuses it with its error.
	Step func(name string) error
}

// ErrTooEarly says that another process may still store something of a run. The caller tries again once that has changed.
var ErrTooEarly = errors.New("others have still to see that the run goes")

type step struct {
	name string
	do   func() error
}

// Carry removes a run whose deletion was decided, or a part of one. It may be repeated, and killed at any moment: a later call
// removes what is left.
func (r *Removal) Carry(ctx context.Context, runID uint64, part string, fate *pipelines.Fate) error {
	r.Deleted.Add(runID, part)
	for _, s := range r.steps(ctx, runID, part, fate) {
		if err := r.take(s); err != nil {
			return fmt.Errorf("delete %s: %w", inWords(part, fate.Name), err)
		}
	}
	return nil
}

func inWords(part, run string) string {
	if part == Whole {
		return "run " + run
	}
	return part + " of run " + run
}

// steps are in such an order that nothing is stored again behind a removal, and what was published is forgotten last.
func (r *Removal) steps(ctx context.Context, runID uint64, part string, fate *pipelines.Fate) []step {
	var steps []step
	if r.Tables != nil {
		steps = append(steps, step{"inserts", func() error { return r.Tables.Release(ctx, runID) }})
	}
	if r.Agreed != nil {
		steps = append(steps, step{"others", func() error { return r.Agreed(ctx, fate.Removal(part)) }})
	}
	if r.Stream != nil {
		steps = append(steps, step{"stream", func() error { return r.Stream.Purge(ctx, runID, part) }})
	}
	if r.Database != nil {
		steps = append(steps, step{"tables", func() error { return r.fromTables(ctx, runID, part, fate) }})
	}
	if r.Archive != nil {
		steps = append(steps, step{"archive", func() error { return r.fromArchive(runID, part) }})
	}
	if r.Copied != nil {
		steps = append(steps, step{"copy", func() error { return r.Copied(ctx, runID, kindsOf(part)...) }})
	}
	steps = append(steps, step{"folders", func() error { return r.Local.Remove(runID, part, fate.Epochs) }})
	if r.Stream != nil && part == Whole {
		steps = append(steps, step{"sources", func() error { return pipelines.ForgetSources(ctx, r.Stream.JetStream, runID) }})
	}
	return steps
}

// fromTables notes what goes before that, and keeps what is added up of it: both take that it is there.
func (r *Removal) fromTables(ctx context.Context, runID uint64, part string, fate *pipelines.Fate) error {
	if part == Whole {
		return clickhouse.RemoveRun(ctx, r.Database, runID)
	}
	noted, err := clickhouse.Removed(ctx, r.Database, runID, part)
	if err == nil && !noted && part == Details {
		err = clickhouse.KeepAggregates(ctx, r.Database, fate.Name)
	}
	if err == nil {
		err = clickhouse.NoteRemoval(ctx, r.Database, runID, part, fate.Parts[part].RemovedNs)
	}
	if err == nil {
		err = clickhouse.RemoveKinds(ctx, r.Database, runID, kindsOf(part)...)
	}
	return err
}

func (r *Removal) fromArchive(runID uint64, part string) error {
	if part == Whole {
		return r.Archive.RemoveRun(runID)
	}
	return r.Archive.RemoveKinds(runID, kindsOf(part)...)
}

func (r *Removal) take(s step) error {
	if r.Step != nil {
		if err := r.Step(s.name); err != nil {
			return err
		}
	}
	return s.do()
}

// Local are the folders of one host in which files of runs lie. An empty one is none.
type Local struct {
	Logs     string // what programs printed, by runs
	Payloads string // raw tensors, by processes; traces lie beside it, by runs
	Spool    string // what processes record, by processes
}

func (l *Local) traces() string { return filepath.Join(filepath.Dir(l.Payloads), "traces") }

// Remove removes the folders of a run, or of a part of it, by its id and the epochs of its live starts.
func (l *Local) Remove(runID uint64, part string, epochs []string) error {
	var folders []string
	if l.Logs != "" && Goes(part, schemas.Log().Kind()) {
		folders = append(folders, filepath.Join(l.Logs, schemas.FormatID(runID)))
	}
	if l.Payloads != "" && Goes(part, schemas.Payload().Kind()) {
		folders = append(folders, filepath.Join(l.traces(), schemas.FormatID(runID)))
		kept, err := l.payloadsOf(epochs)
		if err != nil {
			return err
		}
		folders = append(folders, kept...)
	}
	var errs []error
	for _, folder := range folders {
		errs = append(errs, os.RemoveAll(folder))
	}
	return errors.Join(errs...)
}

// payloadsOf are the folders of processes whose start has one of these epochs.
func (l *Local) payloadsOf(epochs []string) ([]string, error) {
	of := make(map[string]bool, len(epochs))
	for _, epoch := range epochs {
		of[epoch] = true
	}
	names, err := namesIn(l.Payloads)
	var folders []string
	for _, name := range names {
		if of[epochOf(name)] {
			folders = append(folders, filepath.Join(l.Payloads, name))
		}
	}
	return folders, err
}
