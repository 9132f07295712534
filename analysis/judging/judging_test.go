package judging_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/judging"
	"github.com/tensortap/tensortap/analysis/rows/store"
	"github.com/tensortap/tensortap/consumers/clickhouse"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
	"github.com/tensortap/tensortap/sql"
)

// TestMain lets the test binary be its own engine, as the real binary is.
func TestMain(m *testing.M) {
	testbed.ServeEngine()
	os.Exit(m.Run())
}

// desk is a keeper over a database, without a stream between: what it publishes is stored.
type desk struct {
	judging.Keeper
	database  *testbed.Database
	published []schemas.Message
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{database: testbed.StartDatabase(t)}
	var mutex sync.Mutex
	d.Keeper = judging.Keeper{
		Door: ask.Open(d.database.Conn),
		Open: func(ctx context.Context, r compare.Request) (*compare.Job, error) {
			return compare.Open(ctx, store.Open(d.database.Conn), r)
		},
		Publish: func(_ context.Context, messages ...schemas.Message) error {
			mutex.Lock()
			defer mutex.Unlock()
			d.published = append(d.published, messages...)
			d.database.Write(t, messages) //nolint:contextcheck // that of the test
			return nil
		},
		Stored: func(context.Context) error { return nil },
		Now:    func() time.Time { return time.Unix(1<<32, 0) },
	}
	return d
}

func comparison() judging.Comparison {
	c := judging.Comparison{Request: compare.DefaultRequest()}
	c.Request.Problem, c.Request.Benches = "problem", []string{"bench"}
	return c
}

func TestReportsOfWhatIsStoredAnswerAsTheJobItself(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, input := range []string{"plain", "duplicate", "missing_rank", "not_finite", "empty"} {
		d.database.Load(t, "../../sql/testdata/input/"+input+".txtar")
		answer, err := compare.Run(t.Context(), store.Open(d.database.Conn), comparison().Request)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := d.Judged(t.Context(), comparison()); err != nil {
			t.Fatal(err)
		}
		d.database.Write(t, d.published) // as after a lost acknowledgement
		d.published = nil
		recalled := d.answer(t)
		for _, name := range []string{"divergence_summary", "judged_steps", "divergence", "first_divergence", "layers", "unpaired", "origin", "jump"} {
			want, _ := answer.Table(name)
			if again, _ := recalled.Table(name); !slices.Equal(recordTexts(again), recordTexts(want)) {
				t.Errorf("%s of %s, as recalled\n%s\nas judged\n%s", name, input, strings.Join(recordTexts(again), "\n"), strings.Join(recordTexts(want), "\n"))
			}
			if name == "jump" { // which no report shows
				continue
			}
			got := stored(t, d.database, name)
			if wanted := recordTexts(want); !slices.Equal(got, wanted) {
				t.Errorf("%s of %s, as stored\n%s\nas judged\n%s", name, input, strings.Join(got, "\n"), strings.Join(wanted, "\n"))
			}
		}
	}
}

// answer is the answer to the comparison, of which all is judged.
func (d *desk) answer(t *testing.T) *compare.Answer {
	t.Helper()
	job, err := d.Open(t.Context(), comparison().Request)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := d.Answer(t.Context(), comparison(), job)
	if err != nil || len(d.published) > 0 {
		t.Fatalf("%d messages more (%v), want none", len(d.published), err)
	}
	return answer
}

func TestWhatIsJudgedIsNotJudgedAgain(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.database.Load(t, "../../sql/testdata/input/plain.txtar")
	for range 2 {
		if _, err := d.Judged(t.Context(), comparison()); err != nil {
			t.Fatal(err)
		}
	}
	first := len(d.published)
	lacking, err := d.Lacking(t.Context(), comparison())
	if err != nil || lacking != 0 {
		t.Errorf("%d steps lack a verdict (%v), want none", lacking, err)
	}
	d.Open = nil // nothing is read any more
	if _, err := d.Judged(t.Context(), comparison()); err != nil || len(d.published) != first {
		t.Errorf("asked again: %d messages more (%v), want none", len(d.published)-first, err)
	}
}

// stored is the answer of the report over stored rows.
func stored(t *testing.T, d *testbed.Database, name string) []string {
	t.Helper()
	report, err := sql.ReportByName(name)
	if err != nil {
		t.Fatal(err)
	}
	parameters := map[string]string{"problem": "problem", "bench": "bench"}
	for _, p := range report.Parameters {
		if !p.Required {
			parameters[p.Name] = p.Default
		}
	}
	answer, err := clickhouse.Query(t.Context(), d.Conn, report.Query, parameters, "ArrowStream")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Close() }()
	reader, err := ipc.NewReader(answer)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Release()
	texts := []string{columnNames(reader.Schema())}
	for reader.Next() {
		texts = append(texts, rowTexts(reader.RecordBatch())...)
	}
	return texts
}

func recordTexts(record arrow.RecordBatch) []string {
	return append([]string{columnNames(record.Schema())}, rowTexts(record)...)
}

func columnNames(schema *arrow.Schema) string {
	names := make([]string, schema.NumFields())
	for i, f := range schema.Fields() {
		names[i] = f.Name
	}
	return strings.Join(names, "|")
}

func rowTexts(record arrow.RecordBatch) []string {
	texts := make([]string, record.NumRows())
	for i := range texts {
		values := make([]string, record.NumCols())
		for c, column := range record.Columns() {
			values[c] = fmt.Sprint(column.ValueStr(i))
		}
		texts[i] = strings.Join(values, "|")
	}
	return texts
}

// Its clock stands still, and then goes back by an hour.
func TestTheLastQuestionIsTheLatestWhateverTheClockSays(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first, other, with := comparison(), comparison(), comparison()
	other.Request.Judge.Tolerance = 0.5
	with.Request.Benches = []string{"another"}
	stands := first
	stands.Standing = true
	ids := map[string]bool{}
	for i, asked := range []judging.Comparison{first, other, first, stands, other, with, other} {
		if i == 3 {
			now := d.Now().Add(-time.Hour)
			d.Now = func() time.Time { return now }
		}
		if err := d.Declare(t.Context(), asked); err != nil {
			t.Fatal(err)
		}
		if len(d.published) != i+1 || ids[d.published[i].ID()] {
			t.Fatalf("question %d: %d messages, the last is %s; want one more, under an id of its own", i, len(d.published), d.published[i].ID())
		}
		ids[d.published[i].ID()] = true
		table, err := d.Door.Table(t.Context(), "SELECT toString(argMax(comparison_id, declared_time_ns)) AS id, argMax(standing, declared_time_ns) AS standing FROM tap_store.declared_comparison", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := table.Get(0, "id").Exact; got != strconv.FormatUint(asked.ID(), 10) || table.Get(0, "standing").True() != asked.Standing {
			t.Errorf("question %d: the latest is %s, standing %t; want %d, %t", i, got, table.Get(0, "standing").True(), asked.ID(), asked.Standing)
		}
	}
}

func TestExceptionsAreReadAsTheyWereDeclared(t *testing.T) {
	t.Parallel()
	exceptions := []judge.Exception{{API: "a\tb", Role: "c", Why: "as\tsaid"}, {API: "a", Role: "b\tc", Path: "\x1b"}}
	asked := [2]judging.Comparison{comparison(), comparison()}
	for i := range asked {
		asked[i].Request.Judge.Exceptions = exceptions[i : i+1]
		row := asked[i].Baseline("name", nil, 0)
		read, err := judging.Of(&schemas.DeclaredComparisonRow{Problem: "p", Benches: []string{"b"}, Exceptions: row.Exceptions})
		if err != nil || len(read.Request.Judge.Exceptions) != 1 || read.Request.Judge.Exceptions[0] != exceptions[i] {
			t.Errorf("%q was read as %+v, %v; want %+v", row.Exceptions, read.Request.Judge.Exceptions, err, exceptions[i])
		}
	}
	if asked[0].ID() == asked[1].ID() {
		t.Error("both have one id")
	}
}
