package system

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	driver "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/consumers/parquet"
	"github.com/tensortap/tensortap/consumers/parquet/mirror"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
	"github.com/tensortap/tensortap/sql"
)

// Names of the durable consumers.
const (
	databaseConsumer = "clickhouse"
	archiveConsumer  = "parquet"
)

// archive is the Parquet store; nil in a temporary system.
type archive struct {
	writer  *parquet.Writer
	damaged bool           // some of what it held is gone
	mirror  *mirror.Mirror // copies it to a bucket; nil where none is named
	now     func() time.Time
}

func (a *archive) close() error {
	if a == nil {
		return nil
	}
	return a.writer.Close()
}

// setUp makes streams, tables and views, and opens the archive.
func (s *System) setUp(ctx context.Context, client *Client) (*archive, error) {
	if err := notShared(ctx, client.stream); err != nil {
		return nil, err
	}
	var store *archive
	group, setUpCtx := errgroup.WithContext(ctx)
	group.Go(func() error {
		return unhurried(setUpCtx, logWaiting(s.cfg.Log), func() error { return pipelines.Prepare(setUpCtx, client.stream, s.pipelines()) })
	})
	group.Go(func() error {
		if err := s.finishRebuild(setUpCtx, client); err != nil {
			return err
		}
		return s.migrate(s.unsynced(setUpCtx), client)
	})
	if !s.cfg.Temporary {
		group.Go(func() error {
			var err error
			store, err = openArchive(setUpCtx, s.cfg)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		if store != nil {
			_ = store.close()
		}
		return nil, err
	}
	return store, nil
}

// migrate makes the tables and views.
func (s *System) migrate(ctx context.Context, client *Client) error {
	files, err := s.objects()
	if err != nil {
		return err
	}
	return clickhouse.Migrate(ctx, client.database, files)
}

// unsynced spares a temporary system the sync of each table and view that it makes.
func (s *System) unsynced(ctx context.Context) context.Context {
	if !s.cfg.Temporary {
		return ctx
	}
	return driver.Context(ctx, driver.WithSettings(driver.Settings{"fsync_metadata": 0}))
}

// objects are the files of tables, views and reports. A temporary system needs the tables of events and the views over
// them: it is asked by our own commands, which have the text of each report.
func (s *System) objects() (fs.FS, error) {
	if !s.cfg.Temporary {
		return sql.Files, nil
	}
	return overEvents()
}

// overEvents are the files of tables that are filled from the stream, and of views that rest on nothing else.
func overEvents() (fs.FS, error) {
	views, err := sql.Views()
	if err != nil {
		return nil, err
	}
	some, there := someFiles{sql.Files, map[string]bool{}}, map[string]bool{}
	some.objects["removal"], there["tap_store.removal"] = true, true
	for _, t := range schemas.Tables() {
		some.objects[t.Kind()], there["tap_store."+t.Kind()] = true, true
	}
	for _, v := range views {
		if !slices.ContainsFunc(v.Reads, func(source string) bool { return !there[source] }) {
			some.objects[v.Name], there["tap."+v.Name] = true, true
		}
	}
	return some, nil
}

// someFiles are those of some objects.
type someFiles struct {
	fs.FS
	objects map[string]bool
}

// Glob implements fs.GlobFS.
func (f someFiles) Glob(pattern string) ([]string, error) {
	names, err := fs.Glob(f.FS, pattern)
	return slices.DeleteFunc(names, func(name string) bool {
		_, object, _ := strings.Cut(strings.TrimSuffix(name, ".sql"), "_") // after the number, or the layer
		return strings.HasPrefix(name, "reports/") || !f.objects[object]
	}), err
}

// openArchive opens the Parquet files and says what had to be put right.
func openArchive(ctx context.Context, cfg Config) (*archive, error) {
	archiveConfig := parquet.DefaultConfig()
	archiveConfig.Dir = cfg.Folder.archive()
	writer, err := parquet.New(archiveConfig)
	if err != nil {
		return nil, err
	}
	recovery, err := writer.Open(ctx)
	if err != nil {
		return nil, err
	}
	if cfg.Replay != ReplayNothing { // which is asked for where something is damaged
		found, err := writer.Verify(ctx)
		if err != nil {
			return nil, errors.Join(err, writer.Close())
		}
		recovery.Quarantined += len(found)
	}
	if recovery.Adopted+recovery.Aside > 0 {
		cfg.Log.Warn().Int("adopted", recovery.Adopted).Int("kept_aside", recovery.Aside).
			Msg("the manifest of the archive lacked files, they were read: those of the archive are listed again, others are in its folder quarantine")
	}
	if recovery.Damaged() {
		cfg.Log.Error().Int("quarantined", recovery.Quarantined).Int("lost", recovery.Lost).Int("damaged_lines", recovery.DamagedLines).
			Bool("manifest_lost", recovery.Anew).Msg("the archive is damaged, events that it lost are fetched from stream and tables again")
	}
	store := &archive{writer: writer, damaged: recovery.Damaged()}
	if err := store.copyTo(cfg); err != nil {
		return nil, errors.Join(err, writer.Close())
	}
	return store, nil
}

// isInUse says whether another process writes the archive.
func isInUse(err error) bool { return errors.Is(err, parquet.ErrInUse) }

// archived gives the messages of an archive, without kinds all.
func archived(ctx context.Context, folder string, kinds ...string) iter.Seq2[schemas.Message, error] {
	return parquet.Saved(ctx, folder, kinds...)
}

// pipelines is the configuration of stream and deliveries.
func (s *System) pipelines() pipelines.Config {
	cfg := pipelines.DefaultConfig()
	cfg.Stream.MaxBytes, cfg.Stream.DeadMaxBytes = s.budget.StreamBytes, deadLetterBytes
	cfg.Stream.Consumers = []string{databaseConsumer}
	if !s.cfg.Temporary {
		cfg.Stream.Consumers = append(cfg.Stream.Consumers, archiveConsumer)
	}
	cfg.Stream.AckWait, cfg.Deliver.BatchAge, cfg.Deliver.Spacing = s.cfg.AckWait, s.cfg.BatchAge, s.cfg.Spacing
	cfg.Publish.SpillDir, cfg.Deliver.Tracer = s.cfg.Folder.spill(), s.cfg.Health.Tracer()
	return cfg
}

// deliveries bring the stream to each store, that to the tables by the writer.
func (s *System) deliveries(client *Client, store *archive) (*clickhouse.Writer, []delivery, error) {
	writer, err := clickhouse.New(clickhouse.DefaultConfig(), client.database)
	if err != nil {
		return nil, nil, err
	}
	tables := s.deleted.Heeding(s.cfg.Health.Timed(databaseConsumer, watched{writer, s.cfg.Log}))
	database, err := pipelines.New(s.pipelines(), client.stream, databaseConsumer, tables, s.cfg.Log, s.cfg.Now)
	if err != nil {
		return nil, nil, fmt.Errorf("deliver to ClickHouse: %w", err)
	}
	deliveries := []delivery{{database, databaseConsumer, func() any { return writer.Counts() }}}
	if store == nil {
		return writer, deliveries, nil
	}
	cfg := s.pipelines()
	cfg.Deliver.BatchAge, cfg.Deliver.Spacing = s.cfg.ArchiveAge, 0
	cfg.Deliver.BatchRows, cfg.Deliver.RowBytes = archiveRows, archiveRowBytes
	saved := s.deleted.Heeding(s.cfg.Health.Timed(archiveConsumer, store.writer))
	files, err := pipelines.New(cfg, client.stream, archiveConsumer, saved, s.cfg.Log, s.cfg.Now)
	if err != nil {
		return nil, nil, fmt.Errorf("deliver to the archive: %w", err)
	}
	return writer, append(deliveries, delivery{files, archiveConsumer, func() any { return store.writer.Stats() }}), nil
}

// watched is the database's writer, which says when it had to look what became of an insert.
type watched struct {
	*clickhouse.Writer
	log zerolog.Logger
}

// Write implements pipelines.Sink.
func (w watched) Write(ctx context.Context, messages []schemas.Message) error {
	before := w.Counts()
	err := w.Writer.Write(ctx, messages)
	if after := w.Counts(); after.Doubts > before.Doubts {
		w.log.Warn().Uint64("inserts", after.Doubts-before.Doubts).Uint64("messages_stored", after.Resolved-before.Resolved).
			Msg("the engine did not say whether it stored an insert, looked it up")
	}
	return err
}

// archiveRows and archiveRowBytes close a file of the archive before its age does. Its rows go to the disk as they come.
const (
	archiveRows     = 1 << 20
	archiveRowBytes = 1 << 30
)
