package verdicts_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/analysis/rows/store"
	"github.com/tensortap/tensortap/analysis/rules"
	"github.com/tensortap/tensortap/analysis/verdicts"
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

func TestStoredReportsAnswerAsTheJobItself(t *testing.T) {
	t.Parallel()
	d := testbed.StartDatabase(t)
	for _, input := range []string{"plain", "duplicate", "missing_rank", "not_finite", "empty"} {
		d.Load(t, "../../sql/testdata/input/"+input+".txtar")
		answer := judgeAndStore(t, d)
		for _, name := range []string{"divergence_summary", "judged_steps", "divergence", "first_divergence", "layers", "unpaired", "origin"} {
			want, _ := answer.Table(name)
			got := stored(t, d, name)
			if wanted := recordTexts(want); !slices.Equal(got, wanted) {
				t.Errorf("%s of %s, as stored\n%s\nas judged\n%s", name, input, strings.Join(got, "\n"), strings.Join(wanted, "\n"))
			}
		}
	}
}

// judgeAndStore compares problem and bench, and stores what they come to twice, as after a lost acknowledgement.
func judgeAndStore(t *testing.T, d *testbed.Database) *compare.Answer {
	t.Helper()
	source, request := store.Open(d.Conn), compare.DefaultRequest()
	request.Problem, request.Benches = "problem", []string{"bench"}
	answer, err := compare.Run(t.Context(), source, request)
	if err != nil {
		t.Fatal(err)
	}
	messages := judged(t, source, request, answer.Problem, answer.Benches[0])
	origins, err := verdicts.Origins(comparison().ComparisonID, answer.Problem.ID, 1, answer.Origins)
	if err != nil {
		t.Fatal(err)
	}
	declared, err := verdicts.Declared(comparison())
	if err != nil {
		t.Fatal(err)
	}
	messages = append(append(messages, origins...), declared)
	d.Write(t, messages)
	d.Write(t, messages)
	return answer
}

func comparison() schemas.DeclaredComparisonRow {
	row := schemas.DeclaredComparisonRow{DeclaredTimeNs: 9000, Problem: "problem", Benches: []string{"bench"}, Tolerance: -1, Rules: rules.Version}
	row.ComparisonID = schemas.DeclaredComparisonID(&row)
	return row
}

func judged(t *testing.T, source rows.Source, request compare.Request, problem, bench *rows.Run) []schemas.Message {
	t.Helper()
	job, err := compare.Open(t.Context(), source, request)
	if err != nil {
		t.Fatal(err)
	}
	collected := result.New(result.DefaultOptions(), problem, bench, source.Definitions())
	var mutex sync.Mutex
	var all []schemas.Message
	err = job.Judge(t.Context(), job.Steps(), func(at pair.Step, judged []judge.Judged) error {
		made, err := verdicts.Messages(verdicts.UnitOf(comparison().ComparisonID, problem, bench, at), judged, collected)
		mutex.Lock()
		defer mutex.Unlock()
		all = append(all, made...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// stored is the answer of the report over stored rows.
func stored(t *testing.T, d *testbed.Database, name string) []string {
	t.Helper()
	report, err := sql.ReportByName("stored_" + name)
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
