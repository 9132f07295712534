package delivery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	driver "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/consumers/parquet"
	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/producers/msprobe"
	"github.com/tensortap/tensortap/schemas"
)

// published is a dump that was stored as a run.
type published struct{ dir, run string }

// tallySources reads the dumps themselves.
func tallySources(ctx context.Context, sources []published) (*tally, error) {
	t := newTally()
	for _, s := range sources {
		found, err := msprobe.Find(s.dir)
		if err != nil {
			return nil, err
		}
		labels := map[string]string{}
		if found.RanksGuessed {
			labels["ranks"] = "guessed"
		}
		row := msprobe.RunRow(found, s.run, labels)
		m, err := msprobe.RunMessage(&row)
		if err := errors.Join(err, t.add(m)); err != nil {
			return nil, err
		}
		for _, dump := range found.Dumps {
			if err := t.addDump(ctx, dump, s.run); err != nil {
				return nil, fmt.Errorf("%s: %w", dump.Dir, err)
			}
		}
	}
	return t, nil
}

func (t *tally) addDump(ctx context.Context, dump msprobe.Dump, run string) error {
	source, err := msprobe.Open(dump, msprobe.DefaultOptions(run))
	if err != nil {
		return err
	}
	source.Reissue(schemas.FileEpoch(source.Digest(), source.Step(), 0), 0, dump.ModTimeNs)
	for m, err := range source.Batches(ctx) {
		if err := errors.Join(err, t.add(m)); err != nil {
			return err
		}
	}
	return nil
}

// tallyStream reads every message of the stream.
func tallyStream(ctx context.Context, js jetstream.JetStream) (*tally, error) {
	consumer, err := js.OrderedConsumer(ctx, pipelines.StreamName, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return nil, err
	}
	t := newTally()
	messages, err := consumer.Messages(jetstream.PullMaxBytes(32 << 20))
	if err != nil {
		return nil, err
	}
	defer messages.Stop()
	for pending := consumer.CachedInfo().NumPending; pending > 0; pending-- {
		msg, err := messages.Next(jetstream.NextMaxWait(30 * time.Second))
		if err != nil {
			return nil, fmt.Errorf("read the stream, %d messages to go: %w", pending, err)
		}
		m, err := schemas.ParseMessage(msg.Subject(), msg.Headers(), msg.Data(), 0)
		if err == nil {
			err = t.add(m)
		}
		if bad := (*schemas.MalformedError)(nil); errors.As(err, &bad) {
			t.malformed++
			continue
		}
		if err != nil {
			return nil, err
		}
	}
	return t, nil
}

// tallyDatabase reads every row of every table, duplicates too.
func tallyDatabase(ctx context.Context, dsn string) (*tally, error) {
	options, err := driver.ParseDSN(dsn)
	if err != nil {
		return nil, err
	}
	conn, err := driver.Open(options)
	if err != nil {
		return nil, err
	}
	defer conn.Close() //nolint:errcheck // only read
	t := newTally()
	for _, table := range schemas.Tables() {
		columns := make([]string, len(table.Columns))
		for i, c := range table.Columns {
			columns[i] = "`" + c.Name + "`"
		}
		answer, err := clickhouse.Query(ctx, conn, "SELECT "+strings.Join(columns, ", ")+" FROM tap_store."+table.Kind(), nil, "ArrowStream")
		if err != nil {
			return nil, err
		}
		if err := errors.Join(t.addStream(table, answer), answer.Close()); err != nil {
			return nil, fmt.Errorf("read table %s: %w", table.Kind(), err)
		}
	}
	return t, nil
}

func (t *tally) addStream(table schemas.Table, from io.Reader) error {
	reader, err := ipc.NewReader(from)
	if errors.Is(err, io.EOF) {
		return nil // an empty table
	}
	if err != nil {
		return err
	}
	defer reader.Release()
	for reader.Next() {
		if err := t.addRows(table, reader.RecordBatch()); err != nil {
			return err
		}
	}
	return reader.Err()
}

// tallyArchive reads the Parquet files, of which nobody else may hold the folder.
func tallyArchive(ctx context.Context, dir string) (*tally, error) {
	cfg := parquet.DefaultConfig()
	cfg.Dir = dir
	w, err := parquet.New(cfg)
	if err != nil {
		return nil, err
	}
	if _, err := w.Open(ctx); err != nil {
		return nil, err
	}
	damaged, err := w.Verify(ctx)
	err = errors.Join(err, errors.Join(damaged...))
	t, readErr := tallyFiles(ctx, dir)
	err = errors.Join(err, readErr)
	if t.repeated > 0 {
		err = errors.Join(err, fmt.Errorf("%d batches stand twice in the archive", t.repeated))
	}
	if n := len(w.Missing()); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d spans of batches are missing in the archive", n))
	}
	return t, errors.Join(err, w.Close())
}

// tallyFiles reads the Parquet files as anybody may.
func tallyFiles(ctx context.Context, dir string) (*tally, error) {
	var errs []error
	t := newTally()
	for m, err := range parquet.Saved(ctx, dir) {
		if err == nil {
			err = t.add(m)
		}
		errs = append(errs, err)
	}
	return t, errors.Join(errs...)
}

// awaitStored returns when every store holds all that is in the stream.
func awaitStored(tb testing.TB, js jetstream.JetStream, consumers ...string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), 3*time.Minute)
	defer cancel()
	if err := pipelines.WaitStored(ctx, js, 0, 10*time.Millisecond, consumers...); err != nil {
		tb.Fatal(err)
	}
}

// stores is what the equality of all stores was checked on.
type stores struct{ stream, database *tally }

// requireEqual checks that the dumps, the stream, the database and the archive hold the same rows, each once. It
// stops the system. Empty sources are not compared.
func requireEqual(tb testing.TB, u *program.Up, sources []published) stores {
	tb.Helper()
	js := program.ConnectStream(tb, u.Endpoint.NATS)
	awaitStored(tb, js, "clickhouse", "parquet")
	stream, err := tallyStream(tb.Context(), js)
	if err != nil {
		tb.Fatalf("read the stream: %v", err)
	}
	database, err := tallyDatabase(tb.Context(), u.Endpoint.ClickHouse)
	if err != nil {
		tb.Fatalf("read the database: %v", err)
	}
	if err := u.Stop(); err != nil {
		tb.Error(err)
	}
	files, err := tallyArchive(tb.Context(), u.Endpoint.Archive)
	if err != nil {
		tb.Errorf("read the archive: %v", err)
	}
	tallies := map[string]*tally{"database": database, "archive": files}
	if len(sources) > 0 {
		source, err := tallySources(tb.Context(), sources)
		if err != nil {
			tb.Fatalf("read the sources: %v", err)
		}
		audit := schemas.Audit().Kind() // commands write these lines themselves
		source.definitions[audit] = stream.definitions[audit]
		tallies["source"] = source
	}
	requireTallies(tb, stream, tallies)
	return stores{stream, database}
}

// requireTallies says where the others differ from the first.
func requireTallies(tb testing.TB, want *tally, all map[string]*tally) {
	tb.Helper()
	for name, t := range all {
		for _, difference := range want.lacks(t) {
			tb.Errorf("%s: %s", name, difference)
		}
	}
}

// requireComplete checks that the completeness report has nothing to complain of.
func requireComplete(tb testing.TB, u *program.Up, runs int) {
	tb.Helper()
	rows := u.Query(tb, "SELECT countIf(NOT complete), sum(missing_batch_count), uniqExact(run_id), count() FROM tap.completeness")
	if got := rows[0]; got[0] != "0" || got[1] != "0" || got[2] != fmt.Sprint(runs) {
		tb.Errorf("completeness: %s of %s ranks are incomplete, %s batches are missing, %s runs, want %d", got[0], got[3], got[1], got[2], runs)
		for _, row := range u.Query(tb, "SELECT run, rank, explanation FROM tap.completeness WHERE NOT complete LIMIT 5") {
			tb.Errorf("completeness: %v", row)
		}
	}
}
