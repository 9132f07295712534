package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	driver "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/zeebo/xxh3"

	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/consumers/parquet"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/producers/msprobe"
	"github.com/tensortap/tensortap/schemas"
)

// tally is all rows of a store: of measurements those of each batch, of definitions each distinct row.
type tally struct {
	batches     map[batchKey]batchSum
	definitions map[string]map[uint64]bool // kind, hash of the row
	messages    int
	repeated    int // messages whose batch was there before, with the same rows
	malformed   int
}

type batchKey struct {
	kind string
	id   schemas.Identity
}

// batchSum tells batches of other rows apart, in whatever order the rows are.
type batchSum struct {
	rows int
	sum  uint64
}

func newTally() *tally {
	return &tally{batches: map[batchKey]batchSum{}, definitions: map[string]map[uint64]bool{}}
}

// rows is how many rows of measurements there are.
func (t *tally) rows() int {
	n := 0
	for _, b := range t.batches {
		n += b.rows
	}
	return n
}

// add takes a message; one whose batch was there before counts once, and must hold the same.
func (t *tally) add(m schemas.Message) error {
	record, err := m.Record()
	if err != nil {
		return err
	}
	t.messages++
	table, _ := schemas.TableByKind(m.Header.Kind)
	if table.Class == schemas.Definition {
		t.define(table.Kind(), record)
		return nil
	}
	sum := batchSum{rows: int(record.NumRows())}
	for _, h := range rowHashes(record) {
		sum.sum += h
	}
	key := batchKey{m.Header.Kind, m.Header.Identity}
	if before, found := t.batches[key]; found {
		t.repeated++
		if before != sum {
			return fmt.Errorf("batch %v came twice, with other rows", key)
		}
	}
	t.batches[key] = sum
	return nil
}

func (t *tally) define(kind string, record arrow.RecordBatch) {
	rows := t.definitions[kind]
	if rows == nil {
		rows = map[uint64]bool{}
		t.definitions[kind] = rows
	}
	for _, h := range rowHashes(record) {
		rows[h] = true
	}
}

// addRows takes rows of any batches, each as often as it stands there.
func (t *tally) addRows(table schemas.Table, record arrow.RecordBatch) error {
	if table.Class == schemas.Definition {
		t.define(table.Kind(), record)
		return nil
	}
	run, ok1 := record.Column(0).(*array.Uint64)
	rank, ok2 := record.Column(1).(*array.Uint32)
	epoch, ok3 := record.Column(2).(*array.Uint64)
	batch, ok4 := record.Column(3).(*array.Uint64)
	if !ok1 || !ok2 || !ok3 || !ok4 {
		return fmt.Errorf("%s does not begin with an identity: %v", table.Kind(), record.Schema())
	}
	for i, h := range rowHashes(record) {
		key := batchKey{table.Kind(), schemas.Identity{RunID: run.Value(i), Rank: rank.Value(i), Epoch: epoch.Value(i), Batch: batch.Value(i)}}
		sum := t.batches[key]
		sum.rows++
		sum.sum += h
		t.batches[key] = sum
	}
	return nil
}

// rowHashes is a hash of each row, of every bit of every value.
func rowHashes(record arrow.RecordBatch) []uint64 {
	hashes := make([]uint64, record.NumRows())
	for _, column := range record.Columns() {
		value := bitsOf(column)
		for i := range hashes {
			h := hashes[i] ^ value(i)
			h *= 0x9e3779b97f4a7c15 // an odd number, so nothing is lost; the order of columns counts
			hashes[i] = h ^ h>>29
		}
	}
	return hashes
}

func bitsOf(column arrow.Array) func(i int) uint64 {
	switch c := column.(type) {
	case *array.Uint64:
		return func(i int) uint64 { return valid(c, i, c.Value(i)) }
	case *array.Uint32:
		return func(i int) uint64 { return valid(c, i, uint64(c.Value(i))) }
	case *array.Uint16:
		return func(i int) uint64 { return valid(c, i, uint64(c.Value(i))) }
	case *array.Uint8:
		return func(i int) uint64 { return valid(c, i, uint64(c.Value(i))) }
	case *array.Int64:
		return func(i int) uint64 { return valid(c, i, uint64(c.Value(i))) }
	case *array.Float64:
		return func(i int) uint64 { return valid(c, i, math.Float64bits(c.Value(i))) }
	case *array.Float32:
		return func(i int) uint64 { return valid(c, i, uint64(math.Float32bits(c.Value(i)))) }
	case *array.List:
		return func(i int) uint64 { return valid(c, i, bitsOfList(c, i)) }
	case *array.String:
		return func(i int) uint64 { return valid(c, i, xxh3.HashString(c.Value(i))) }
	default:
		return func(i int) uint64 { return valid(c, i, xxh3.HashString(c.ValueStr(i))) }
	}
}

func bitsOfList(c *array.List, i int) uint64 {
	value := bitsOf(c.ListValues())
	from, to := c.ValueOffsets(i)
	bits := uint64(to - from)
	for k := from; k < to; k++ {
		bits = bits*0x9e3779b97f4a7c15 ^ value(int(k))
	}
	return bits
}

// valid keeps null apart from whatever stands in its place.
func valid(column arrow.Array, i int, bits uint64) uint64 {
	if column.IsNull(i) {
		return 0x6e756c6c6e756c6c
	}
	return bits
}

// lacks says how other differs from t, a few differences of each sort.
func (t *tally) lacks(other *tally) []string {
	const most = 5
	var said []string
	say := func(n int, format string, values ...any) int {
		if n < most {
			said = append(said, fmt.Sprintf(format, values...))
		}
		return n + 1
	}
	missing, wrong, extra := 0, 0, 0
	for key, want := range t.batches {
		got, found := other.batches[key]
		switch {
		case !found:
			missing = say(missing, "batch %v of %d rows is missing", key, want.rows)
		case got.rows != want.rows:
			wrong = say(wrong, "batch %v has %d rows, want %d", key, got.rows, want.rows)
		case got != want:
			wrong = say(wrong, "batch %v has other values", key)
		}
	}
	for key := range other.batches {
		if _, found := t.batches[key]; !found {
			extra = say(extra, "batch %v should not be there", key)
		}
	}
	for kind := range maps.Keys(t.definitions) {
		if a, b := t.definitions[kind], other.definitions[kind]; !maps.Equal(a, b) {
			said = append(said, fmt.Sprintf("distinct rows of %s: %d, want %d", kind, len(b), len(a)))
		}
	}
	if n := missing + wrong + extra; n > 0 {
		said = append(said, fmt.Sprintf("of %d batches %d are missing, %d differ, %d are too many", len(t.batches), missing, wrong, extra))
	}
	slices.Sort(said)
	return said
}

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
	source.Reissue(source.Epoch(), 0, dump.ModTimeNs)
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
	if damaged > 0 {
		err = errors.Join(err, fmt.Errorf("%d files of the archive are damaged", damaged))
	}
	t := newTally()
	for m, readErr := range w.Messages(ctx) {
		if readErr == nil {
			readErr = t.add(m)
		}
		err = errors.Join(err, readErr)
	}
	if t.repeated > 0 {
		err = errors.Join(err, fmt.Errorf("%d batches stand twice in the archive", t.repeated))
	}
	if n := len(w.Missing()); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d spans of batches are missing in the archive", n))
	}
	return t, errors.Join(err, w.Close())
}

// connectStream is a client of the stream of its own, which is closed with the test.
func connectStream(tb testing.TB, url string) jetstream.JetStream {
	tb.Helper()
	conn, err := nats.Connect(url, nats.MaxReconnects(-1), nats.ReconnectWait(20*time.Millisecond))
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	if err != nil {
		tb.Fatal(err)
	}
	return js
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
func requireEqual(tb testing.TB, u *upProcess, sources []published) stores {
	tb.Helper()
	js := connectStream(tb, u.endpoint.NATS)
	awaitStored(tb, js, "clickhouse", "parquet")
	stream, err := tallyStream(tb.Context(), js)
	if err != nil {
		tb.Fatalf("read the stream: %v", err)
	}
	database, err := tallyDatabase(tb.Context(), u.endpoint.ClickHouse)
	if err != nil {
		tb.Fatalf("read the database: %v", err)
	}
	if err := u.stop(); err != nil {
		tb.Error(err)
	}
	files, err := tallyArchive(tb.Context(), u.endpoint.Archive)
	if err != nil {
		tb.Errorf("read the archive: %v", err)
	}
	tallies := map[string]*tally{"database": database, "archive": files}
	if len(sources) > 0 {
		source, err := tallySources(tb.Context(), sources)
		if err != nil {
			tb.Fatalf("read the sources: %v", err)
		}
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
func requireComplete(tb testing.TB, u *upProcess, runs int) {
	tb.Helper()
	rows := u.query(tb, "SELECT countIf(NOT complete), sum(missing_batch_count), uniqExact(run_id), count() FROM tap.completeness")
	if got := rows[0]; got[0] != "0" || got[1] != "0" || got[2] != fmt.Sprint(runs) {
		tb.Errorf("completeness: %s of %s ranks are incomplete, %s batches are missing, %s runs, want %d", got[0], got[3], got[1], got[2], runs)
		for _, row := range u.query(tb, "SELECT run, rank, explanation FROM tap.completeness WHERE NOT complete LIMIT 5") {
			tb.Errorf("completeness: %v", row)
		}
	}
}
