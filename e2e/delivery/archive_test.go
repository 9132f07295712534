package delivery

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/internal/dev/testbed"
	"github.com/tensortap/tensortap/schemas"
)

// facts is what readers must agree on about a column, whatever the order of its rows.
type facts struct {
	Nulls        int    `json:"nulls"`
	Least        string `json:"least"`
	Greatest     string `json:"greatest"`
	NaN          int    `json:"nan"`
	Infinite     int    `json:"infinite"`
	NegativeZero int    `json:"negative_zero"`
	Sum          string `json:"sum"` // of the finite below 1e100
	Size         int    `json:"size"`
}

// found is what one reader says of the events of one kind.
type found struct {
	Reader  string           `json:"reader"`
	Kind    string           `json:"kind"`
	Rows    int              `json:"rows"`
	Runs    []string         `json:"runs"`
	Columns map[string]facts `json:"columns"`
}

func TestTheArchiveHoldsWhatTheDatabaseHolds(t *testing.T) {
	t.Parallel()
	python := findPython(t)
	u := program.StartUp(t, t.TempDir())
	names := []string{"B14_nan_l2_mlp_step1_mix", "D_tp_rank1_nan", "B20_tensor_golden", "A_llama_mix_xor", "B00_golden_md5", "S_sglang_tp2_bench", "A_llama_mix_structure"}
	for _, name := range names {
		u.Publish(t, recorded.Unpack(t, name), name, "--label", "größe=∞")
	}
	u.Settle(t)
	if err := u.Stop(); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(u.Data, "archive")
	read := readByPython(t, python, archive)
	again := program.StartUp(t, u.Data)
	for _, table := range schemas.Tables() {
		kind := table.Kind()
		if table.Beside || slices.Contains([]string{"dead_letter", "alignment", "payload_error", "comparison", "finding", "known_exception", "memory", "failure", "unseen", "heartbeat", "request", "signature", "tally", "call", "token", "token_site", "weight"}, kind) || slices.Contains([]string{"declared_comparison", "verdict", "judged_step", "layer_error", "origin", "baseline", "alert", "audit"}, kind) {
			continue // nothing was refused, compared, alerted to or deleted, and these files tell nothing of a live rank, of tokens or beside a run
		}
		for _, got := range read[kind] {
			if all := kind == "run" || kind == "rank" || kind == "op" || kind == "step"; all && len(got.Runs) != len(names) {
				t.Errorf("%s: %s finds %d runs, want %d", kind, got.Reader, len(got.Runs), len(names))
			}
		}
		files := clickHouseFacts(t, again, table, fmt.Sprintf("file('%s/event=%s/run=*/*.parquet', Parquet)", archive, kind))
		tables := clickHouseFacts(t, again, table, "tap_store."+kind)
		if len(read[kind]) != 2 {
			t.Fatalf("%s: %d readers", kind, len(read[kind]))
		}
		for _, got := range read[kind] {
			sameFacts(t, got, files)
		}
		if table.Class == schemas.Measurement {
			sameFacts(t, tables, files)
			continue
		}
		sameDefinitions(t, again, table, archive)
	}
}

// readByPython has DuckDB and pyarrow read the archive, by kind.
func readByPython(tb testing.TB, python, archive string) map[string][]found {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), python, "../../consumers/parquet/testdata/read_archive.py", archive)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		tb.Fatalf("read_archive.py: %v\n%s", err, stderr.String())
	}
	kinds := map[string][]found{}
	for line := range bytes.SplitSeq(bytes.TrimSpace(out), []byte("\n")) {
		var one found
		if err := json.Unmarshal(line, &one); err != nil {
			tb.Fatal(err)
		}
		kinds[one.Kind] = append(kinds[one.Kind], one)
	}
	return kinds
}

// sameDefinitions compares each definition once: the database drops a second one, the archive need not.
func sameDefinitions(t *testing.T, u *program.Up, table schemas.Table, archive string) {
	t.Helper()
	key := strings.Join(table.Key, ", ")
	hash := "SELECT count(), sum(cityHash64(" + key + ")) FROM (SELECT DISTINCT " + key + " FROM %s)"
	client := u.Client(t)
	defer client.Close()
	var answers []string
	for _, source := range []string{"tap_store." + table.Kind(), fmt.Sprintf("file('%s/event=%s/run=*/*.parquet', Parquet)", archive, table.Kind())} {
		rows, err := client.Table(t.Context(), fmt.Sprintf(hash, source), nil)
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, rows.Rows[0][0].Exact+" "+rows.Rows[0][1].Exact)
	}
	if answers[0] != answers[1] || strings.HasPrefix(answers[0], "0 ") {
		t.Errorf("%s: count and hash of keys are %s in the database, %s in the archive", table.Kind(), answers[0], answers[1])
	}
}

// clickHouseFacts has the engine read a table or files.
func clickHouseFacts(tb testing.TB, u *program.Up, table schemas.Table, source string) found {
	tb.Helper()
	client := u.Client(tb)
	defer client.Close()
	columns := []string{"count()"}
	for _, c := range table.Columns {
		columns = append(columns, factColumns(c)...)
	}
	answer, err := client.Table(tb.Context(), "SELECT "+strings.Join(columns, ", ")+" FROM "+source, nil)
	if err != nil {
		tb.Fatal(err)
	}
	f := found{Reader: "ClickHouse of " + source, Kind: table.Kind(), Rows: program.Number(tb, answer.Rows[0][0].Exact), Columns: map[string]facts{}}
	for i, c := range table.Columns {
		var text [factCount]string
		for k := range text {
			text[k] = answer.Rows[0][1+i*factCount+k].Exact
		}
		f.Columns[c.Name] = readFacts(tb, c, text)
	}
	return f
}

const factCount = 7

// factColumns are the expressions for the facts of a column, factCount of them.
func factColumns(c schemas.Column) []string {
	n := c.Name
	facts := []string{fmt.Sprintf("countIf(%s IS NULL)", n)}
	switch c.Type {
	case schemas.Float64:
		facts = append(facts, fmt.Sprintf("countIf(isNaN(%s))", n), fmt.Sprintf("countIf(isInfinite(%s))", n),
			fmt.Sprintf("countIf(%s = 0 AND reinterpretAsUInt64(assumeNotNull(%s)) != 0)", n, n),
			fmt.Sprintf("toString(sumKahanIf(%s, abs(%s) < 1e100))", n, n))
	case schemas.String:
		facts = append(facts, fmt.Sprintf("sum(lengthUTF8(%s))", n))
	case schemas.Strings, schemas.Int64s, schemas.Float32s, schemas.StringMap:
		facts = append(facts, fmt.Sprintf("sum(length(%s))", n))
	case schemas.Uint8, schemas.Uint16, schemas.Uint32, schemas.Uint64, schemas.Int16, schemas.Int32, schemas.Int64:
		facts = append(facts, fmt.Sprintf("toString(min(%s))", n), fmt.Sprintf("toString(max(%s))", n))
	}
	for i := range facts {
		facts[i] += fmt.Sprintf(" AS `%s.%d`", n, i)
	}
	for i := len(facts); i < factCount; i++ {
		facts = append(facts, fmt.Sprintf("'' AS `%s.%d`", n, i))
	}
	return facts
}

func readFacts(tb testing.TB, c schemas.Column, text [factCount]string) facts {
	tb.Helper()
	f := facts{Nulls: program.Number(tb, text[0])}
	switch c.Type {
	case schemas.Float64:
		f.NaN, f.Infinite, f.NegativeZero, f.Sum = program.Number(tb, text[1]), program.Number(tb, text[2]), program.Number(tb, text[3]), text[4]
	case schemas.String, schemas.Strings, schemas.Int64s, schemas.Float32s, schemas.StringMap:
		f.Size = program.Number(tb, text[1])
	case schemas.Uint8, schemas.Uint16, schemas.Uint32, schemas.Uint64, schemas.Int16, schemas.Int32, schemas.Int64:
		f.Least, f.Greatest = text[1], text[2]
	}
	return f
}

func sameFacts(t *testing.T, got, want found) {
	t.Helper()
	if got.Rows != want.Rows || len(got.Columns) != len(want.Columns) || got.Rows == 0 {
		t.Errorf("%s: %s reads %d rows of %d columns, %s reads %d of %d", got.Kind, got.Reader, got.Rows, len(got.Columns), want.Reader, want.Rows, len(want.Columns))
	}
	for name, w := range want.Columns {
		g := got.Columns[name]
		if nearly(g.Sum, w.Sum) {
			g.Sum = w.Sum
		}
		if g.Least == "None" { // of nothing but nulls
			g.Least, g.Greatest = "", ""
		}
		if g != w {
			t.Errorf("%s.%s: %s reads %+v, %s reads %+v", got.Kind, name, got.Reader, g, want.Reader, w)
		}
	}
}

// nearly says that two sums differ by no more than the order in which they were added up.
func nearly(a, b string) bool {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	return errX == nil && errY == nil && math.Abs(x-y) <= 1e-12*math.Max(1, math.Abs(x))
}

func TestTheArchiveHasAFolderForEachEventAndRun(t *testing.T) {
	t.Parallel()
	u := program.StartUp(t, t.TempDir())
	dir := recorded.Unpack(t, "D_tp_golden")
	u.Publish(t, dir, "one")
	u.Publish(t, dir, "two")
	if err := u.Stop(); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(u.Data, "archive")
	for _, kind := range []string{"run", "rank", "op", "site", "layout", "stack", "program", "program_stack", "step", "tensor"} {
		folders, err := filepath.Glob(filepath.Join(archive, "event="+kind, "run=*"))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, folder := range folders {
			got = append(got, strings.TrimPrefix(filepath.Base(folder), "run="))
		}
		want := []string{schemas.FormatID(schemas.RunID("one")), schemas.FormatID(schemas.RunID("two"))}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("event=%s has runs %q, want %q", kind, got, want)
		}
	}
	open, err := filepath.Glob(filepath.Join(archive, "tmp", "*"))
	if err != nil || len(open) > 0 {
		t.Errorf("unfinished files after a stop: %v, %v", open, err)
	}
}

// findPython is the interpreter that has DuckDB and pyarrow.
func findPython(tb testing.TB) string {
	tb.Helper()
	python := os.Getenv("TENSORTAP_PYTHON")
	if python == "" {
		python = "../../.tools/venv/bin/python"
	}
	if err := exec.CommandContext(tb.Context(), python, "-c", "import duckdb, pyarrow").Run(); err != nil {
		testbed.Needed(tb, "no Python with DuckDB and pyarrow: make venv")
	}
	return python
}
