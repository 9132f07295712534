package delivery

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/pipelines"
	"github.com/tensortap/tensortap/schemas"
)

// bad is a message that no store can take, and a part of the reason that has to be given.
type bad struct {
	message *nats.Msg
	reason  string
}

// badMessages are of every sort, each of a batch of its own.
func badMessages(tb testing.TB) map[string]bad {
	tb.Helper()
	sound := stepMessage(tb, 0)
	checked := func(batch uint64, data []byte) schemas.Message {
		m := stepMessage(tb, batch)
		m.Data, m.Header.CRC = data, crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
		return m
	}
	arrowStream, err := s2.Decode(nil, sound.Data)
	if err != nil {
		tb.Fatal(err)
	}
	zeroRows := stepMessage(tb, 5)
	zeroRows.Header.Rows = 0
	fewRows := stepMessage(tb, 6)
	fewRows.Header.Rows = 1000
	wrongSum := stepMessage(tb, 7)
	wrongSum.Header.CRC ^= 1
	return map[string]bad{
		"no S2":           {wire(checked(1, []byte("neither S2 nor Arrow"))), "decompress"},
		"no Arrow":        {wire(checked(2, s2.Encode(nil, []byte("this is no Arrow stream")))), ""},
		"half an Arrow":   {wire(checked(3, s2.Encode(nil, arrowStream[:len(arrowStream)/2]))), ""},
		"other types":     {wire(checked(4, s2.Encode(nil, otherTypes(tb)))), "run_id"},
		"zero rows":       {wire(zeroRows), "0 rows, want at least 1"},
		"too few rows":    {wire(fewRows), "header says 1000"},
		"wrong checksum":  {wire(wrongSum), "checksum"},
		"unknown kind":    {with(wire(stepMessage(tb, 8)), "tap.dream.00000000000000aa.0", "dream/1", "dream"), "unknown schema dream/1"},
		"unknown version": {with(wire(stepMessage(tb, 9)), sound.Subject(), "step/99", "step"), "unknown schema step/99"},
		"no headers":      {&nats.Msg{Subject: "tap.step.00000000000000aa.0", Data: []byte("hello")}, "header Tap-Schema"},
		"no bytes":        {wire(checked(10, nil)), ""},
	}
}

func stepMessage(tb testing.TB, batch uint64) schemas.Message {
	tb.Helper()
	id := schemas.Identity{RunID: 0xaa, Epoch: 1, Batch: batch}
	rows := schemas.NewBuilder[schemas.StepRow]()
	rows.Append(&schemas.StepRow{RunID: id.RunID, Epoch: id.Epoch, Batch: id.Batch, Step: uint32(batch)})
	m, err := rows.Message(id)
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func wire(m schemas.Message) *nats.Msg {
	return &nats.Msg{Subject: m.Subject(), Header: m.NATSHeader(), Data: m.Data}
}

func with(m *nats.Msg, subject, schema, kind string) *nats.Msg {
	m.Subject = subject
	m.Header.Set("Tap-Schema", schema)
	m.Header.Set("Nats-Msg-Id", strings.Replace(m.Header.Get("Nats-Msg-Id"), "/step/", "/"+kind+"/", 1))
	return m
}

// otherTypes is an Arrow stream whose column rank is a text.
func otherTypes(tb testing.TB) []byte {
	tb.Helper()
	builder := array.NewStringBuilder(memory.DefaultAllocator)
	builder.Append("first")
	schema := arrow.NewSchema([]arrow.Field{{Name: "rank", Type: arrow.BinaryTypes.String}}, nil)
	var b bytes.Buffer
	w := ipc.NewWriter(&b, ipc.WithSchema(schema))
	if err := w.Write(array.NewRecordBatch(schema, []arrow.Array{builder.NewArray()}, 1)); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

// letter is a row of `report dead-letters`.
type letter struct{ origin, subject, reason, size, location string }

func deadLetters(tb testing.TB, u *program.Up) []letter {
	tb.Helper()
	out := program.Run(tb, u.Setting, "report", "dead-letters", "--output", "csv", "--limit", "1000")
	if out.Status != 0 {
		tb.Fatal(out)
	}
	rows := program.ParseCSV(tb, out.Stdout)
	at := map[string]int{}
	for i, name := range rows[0] {
		at[name] = i
	}
	var letters []letter
	for _, row := range rows[1:] {
		letters = append(letters, letter{row[at["origin"]], row[at["subject"]], row[at["reason"]], row[at["size_bytes"]], row[at["location"]]})
	}
	return letters
}

func TestWhatCanNotBeStoredIsKeptAsideWithItsReason(t *testing.T) {
	t.Parallel()
	u := program.StartUp(t, t.TempDir(), "--archive-age", "100ms")
	js := program.ConnectStream(t, u.Endpoint.NATS)
	sources := []published{{recorded.Unpack(t, "D_tp_golden"), "before"}, {recorded.Unpack(t, "D_tp_golden"), "after"}}
	u.Publish(t, sources[0].dir, sources[0].run)
	messages := badMessages(t)
	for _, name := range slices.Sorted(maps.Keys(messages)) {
		if _, err := js.PublishMsg(t.Context(), messages[name].message); err != nil {
			t.Fatalf("publish %s: %v", name, err)
		}
	}
	large := publishTooLarge(t, js, filepath.Join(u.Data, "spill"))
	u.Publish(t, sources[1].dir, sources[1].run)

	awaitLetters(t, u, js, 2*len(messages)+1)
	letters := deadLetters(t, u)
	for name, b := range messages {
		for _, origin := range []string{"clickhouse", "parquet"} {
			requireLetter(t, js, letters, name, origin, b)
		}
	}
	requireSpilled(t, letters, large)
	if want := 2*len(messages) + 1; len(letters) != want {
		t.Errorf("%d dead letters, want %d: one for each of %d messages and 2 stores, and one of the publisher", len(letters), want, len(messages))
	}
	healed(t, u, program.ExitSame, "nothing else is lost, nothing is damaged") // what was refused is not missing
	requireCounted(t, u)

	mustStop(t, u)
	u = program.StartUp(t, u.Data, "--archive-age", "100ms")
	awaitLetters(t, u, program.ConnectStream(t, u.Endpoint.NATS), len(letters))
	if again := deadLetters(t, u); !slices.Equal(again, letters) {
		t.Errorf("after a restart there are other dead letters: %v, want %v", again, letters)
	}
	requireRestStored(t, u, sources)
}

// requireCounted wants each batch of the stream in the tables, or among their dead letters.
func requireCounted(t *testing.T, u *program.Up) {
	t.Helper()
	client := u.Client(t)
	defer client.Close()
	v, err := client.Verify(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if v.TablesRefused == 0 || v.Tables+v.TablesRefused != v.Stream {
		t.Errorf("tables %d, dead letters %d, stream %d batches: %s", v.Tables, v.TablesRefused, v.Stream, v.Refused)
	}
}

// awaitLetters returns once the stores have everything, and there are so many dead letters.
func awaitLetters(tb testing.TB, u *program.Up, js jetstream.JetStream, want int) {
	tb.Helper()
	err := program.Await(30*time.Second, fmt.Sprintf("%d dead letters", want), func() bool {
		awaitStored(tb, js, "clickhouse", "parquet")
		return len(deadLetters(tb, u)) >= want
	})
	if err != nil {
		tb.Errorf("%v\n%s", err, u.Stderr)
	}
}

// requireLetter checks that the store refused the message once, and that its bytes are still there.
func requireLetter(tb testing.TB, js jetstream.JetStream, letters []letter, name, origin string, b bad) {
	tb.Helper()
	var found []letter
	for _, l := range letters {
		if l.origin != origin || l.subject != b.message.Subject {
			continue
		}
		if _, seq, _ := strings.Cut(l.location, "TAP_DEAD/"); bytes.Equal(deadBytes(tb, js, seq), b.message.Data) && l.size == strconv.Itoa(len(b.message.Data)) &&
			deadID(tb, js, seq) == b.message.Header.Get("Nats-Msg-Id") {
			found = append(found, l)
		}
	}
	if len(found) != 1 {
		tb.Errorf("%s: %d dead letters of %s, want 1: %v", name, len(found), origin, letters)
		return
	}
	if found[0].reason == "" || !strings.Contains(found[0].reason, b.reason) {
		tb.Errorf("%s: %s gives the reason %q, want something of %q", name, origin, found[0].reason, b.reason)
	}
	if origin == "clickhouse" {
		tb.Logf("%-16s %s", name, found[0].reason)
	}
}

func dead(tb testing.TB, js jetstream.JetStream, sequence string) *jetstream.RawStreamMsg {
	tb.Helper()
	n, err := strconv.ParseUint(sequence, 10, 64)
	if err != nil {
		tb.Fatalf("place of a dead letter: %v", err)
	}
	stream, err := js.Stream(tb.Context(), pipelines.DeadStreamName)
	if err != nil {
		tb.Fatal(err)
	}
	m, err := stream.GetMsg(tb.Context(), n)
	if err != nil {
		tb.Fatalf("fetch dead letter %d: %v", n, err)
	}
	return m
}

func deadBytes(tb testing.TB, js jetstream.JetStream, sequence string) []byte {
	tb.Helper()
	return dead(tb, js, sequence).Data
}

// deadID is the id that the message came with.
func deadID(tb testing.TB, js jetstream.JetStream, sequence string) string {
	tb.Helper()
	_, rest, found := strings.Cut(dead(tb, js, sequence).Header.Get("Tap-Original-Headers"), `"Nats-Msg-Id":"`)
	if !found {
		return ""
	}
	id, _, _ := strings.Cut(rest, `"`)
	return id
}

// publishTooLarge gives a publisher a message of 9 MiB and returns its bytes.
func publishTooLarge(tb testing.TB, js jetstream.JetStream, spill string) []byte {
	tb.Helper()
	cfg := pipelines.DefaultConfig().Publish
	cfg.SpillDir = spill
	publisher, err := pipelines.NewPublisher(cfg, js, time.Now, nil)
	if err != nil {
		tb.Fatal(err)
	}
	m := stepMessage(tb, 99)
	m.Data = make([]byte, 9<<20)
	random := rand.NewChaCha8([32]byte{})
	_, _ = random.Read(m.Data)
	if err := publisher.Publish(tb.Context(), m); err != nil {
		tb.Fatal(err)
	}
	if err := publisher.Flush(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return m.Data
}

func requireSpilled(tb testing.TB, letters []letter, want []byte) {
	tb.Helper()
	for _, l := range letters {
		if l.origin != "publisher" {
			continue
		}
		text, err := os.ReadFile(l.location)
		if err != nil || !bytes.HasSuffix(text, want) {
			tb.Errorf("message of %d bytes: %s holds %d bytes, %v", len(want), l.location, len(text), err)
		}
		if !strings.Contains(l.reason, "9437184 bytes, limit 8388608") {
			tb.Errorf("message of %d bytes: the reason is %q", len(want), l.reason)
		}
		return
	}
	tb.Errorf("no dead letter of the publisher: %v", letters)
}

// requireRestStored checks that everything sound is in both stores. It stops the system.
func requireRestStored(tb testing.TB, u *program.Up, sources []published) {
	tb.Helper()
	database, err := tallyDatabase(tb.Context(), u.Endpoint.ClickHouse)
	if err != nil {
		tb.Fatal(err)
	}
	mustStop(tb, u)
	files, err := tallyArchive(tb.Context(), u.Endpoint.Archive)
	if err != nil {
		tb.Fatal(err)
	}
	source, err := tallySources(tb.Context(), sources)
	if err != nil {
		tb.Fatal(err)
	}
	for _, store := range []*tally{database, files} {
		delete(store.definitions, schemas.DeadLetter().Kind())
		for _, difference := range source.lacks(store) {
			tb.Error(difference)
		}
	}
}
