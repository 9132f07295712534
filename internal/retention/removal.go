package retention

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/consumers/parquet"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// Removal removes deleted runs from the stores of a process that writes them. Its calls must not overlap.
type Removal struct {
	Stream   jetstream.JetStream
	Database driver.Conn
	Tables   *clickhouse.Writer
	Archive  *parquet.Writer
	Local    Local
	Purged   PurgedFile
	Deleted  *Deleted
	// Step, unless it is nil, is told before each step, and refuses it with its error.
	Step func(name string) error
}

// Carry removes all of a run whose deletion was decided. It may be repeated, and killed at any moment: a later call removes
// what is left.
func (r *Removal) Carry(ctx context.Context, runID uint64, fate *pipelines.Fate) error {
	r.Deleted.Add(runID)
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"stream", func() error { return r.purge(ctx, runID) }},
		{"inserts", func() error { return r.Tables.Release(ctx, runID) }},
		{"tables", func() error { return clickhouse.RemoveRun(ctx, r.Database, runID) }},
		{"archive", func() error { return r.Archive.RemoveRun(runID) }},
		{"folders", func() error { return r.Local.Remove(runID, fate.Epochs) }},
		{"sources", func() error { return pipelines.ForgetSources(ctx, r.Stream, runID) }},
	} {
		if err := r.step(step.name, step.do); err != nil {
			return fmt.Errorf("delete run %s: %w", fate.Name, err)
		}
	}
	return nil
}

func (r *Removal) step(name string, do func() error) error {
	if r.Step != nil {
		if err := r.Step(name); err != nil {
			return err
		}
	}
	return do()
}

// purge notes the places of the run's messages before it removes these: else they would seem lost.
func (r *Removal) purge(ctx context.Context, runID uint64) error {
	stream, err := r.Stream.Stream(ctx, pipelines.StreamName)
	if err != nil {
		return fmt.Errorf("look at the stream: %w", err)
	}
	info := stream.CachedInfo()
	places, kinds, err := pipelines.Places(ctx, r.Stream, runID)
	if err != nil || places.Count() == 0 {
		return err
	}
	if err := r.Purged.Add(info.Created.UnixNano(), info.State.FirstSeq, &places); err != nil {
		return err
	}
	last := uint64(0)
	for span := range places.Spans() {
		last = span.Last
	}
	return pipelines.PurgeRun(ctx, r.Stream, runID, kinds, last)
}

// Purge removes from the stream what came of a run after it was deleted.
func (r *Removal) Purge(ctx context.Context, runID uint64) error { return r.purge(ctx, runID) }

// Local are the folders of one host in which files of runs lie. An empty one is none.
type Local struct {
	Logs     string // what programs printed, by runs
	Payloads string // raw tensors, by processes; traces lie beside it, by runs
	Spool    string // what processes record, by processes
}

func (l *Local) traces() string { return filepath.Join(filepath.Dir(l.Payloads), "traces") }

// Remove removes the folders of a run, by its id and the epochs of its live starts.
func (l *Local) Remove(runID uint64, epochs []string) error {
	var folders []string
	if l.Logs != "" {
		folders = append(folders, filepath.Join(l.Logs, schemas.FormatID(runID)))
	}
	if l.Payloads != "" {
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
