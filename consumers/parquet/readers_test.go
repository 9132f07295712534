package parquet

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/tensortap/tensortap/consumers/consumertest"
	"github.com/tensortap/tensortap/schemas"
)

// facts must be the same for all readers of a column, whatever the order of its rows.
type facts struct {
	Nulls        int    `json:"nulls"`
	Type         string `json:"type"`
	Least        string `json:"least"`
	Greatest     string `json:"greatest"`
	NaN          int    `json:"nan"`
	Infinite     int    `json:"infinite"`
	NegativeZero int    `json:"negative_zero"`
	Size         int    `json:"size"`
}

type found struct {
	Reader  string           `json:"reader"`
	Kind    string           `json:"kind"`
	Rows    int              `json:"rows"`
	Runs    []string         `json:"runs"`
	Columns map[string]facts `json:"columns"`
	Filters map[string]int   `json:"filters"`
}

func TestDuckDBAndPyarrowReadWhatWasWritten(t *testing.T) {
	t.Parallel()
	python := findPython(t)
	dir := t.TempDir()
	w, _ := open(t, dir)
	want := map[string]found{}
	for _, table := range schemas.Tables() {
		var rows []schemas.Message
		for number := range uint64(2) {
			rows = append(rows, consumertest.Messages(consumertest.Batches(t, table.Kind(), consumertest.Producer(number), 4, 300))...)
		}
		must(t, w.Write(t.Context(), rows))
		want[table.Kind()] = factsOf(t, rows)
	}
	out, err := exec.CommandContext(t.Context(), python, "testdata/read_archive.py", dir).Output()
	if err != nil {
		var exit *exec.ExitError
		_ = errors.As(err, &exit)
		t.Fatalf("read_archive.py: %v, %+v", err, exit)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if len(lines) != 2*len(want) {
		t.Fatalf("%d answers, want one of DuckDB and one of pyarrow for each of %d kinds", len(lines), len(want))
	}
	for _, line := range lines {
		var got found
		must(t, json.Unmarshal(line, &got))
		compareFound(t, got, want[got.Kind])
	}
}

func compareFound(t *testing.T, got, want found) {
	t.Helper()
	if got.Rows != want.Rows || fmt.Sprint(got.Runs) != "[8000000000000000 8000000000000001]" {
		t.Errorf("%s reads %d rows of %s in runs %v, want %d in two runs", got.Reader, got.Rows, got.Kind, got.Runs, want.Rows)
	}
	table, _ := schemas.TableByKind(got.Kind)
	if len(got.Columns) != len(table.Columns) {
		t.Errorf("%s reads %d columns of %s, want %d", got.Reader, len(got.Columns), got.Kind, len(table.Columns))
	}
	for name, w := range want.Columns {
		g := got.Columns[name]
		if w.Type == "" {
			g.Type = ""
		}
		if g != w {
			t.Errorf("%s reads %s.%s as %+v, want %+v", got.Reader, got.Kind, name, g, w)
		}
	}
	for name, count := range want.Filters {
		if got.Kind == "tensor" && got.Filters[name] != count {
			t.Errorf("%s finds %d rows of %s by filter %s, want %d", got.Reader, got.Filters[name], got.Kind, name, count)
		}
	}
}

func factsOf(t *testing.T, messages []schemas.Message) found {
	t.Helper()
	all := found{Columns: map[string]facts{}, Filters: map[string]int{"nan": 0, "infinite": 0, "small": 0, "large": 0}}
	for _, m := range messages {
		record, err := m.Record()
		must(t, err)
		all.Rows += int(record.NumRows())
		for i, c := range record.Columns() {
			f := all.Columns[record.ColumnName(i)]
			f.add(c)
			all.Columns[record.ColumnName(i)] = f
			if record.ColumnName(i) == "value_max" {
				countFilters(all.Filters, c)
			}
		}
	}
	return all
}

func countFilters(counts map[string]int, column arrow.Array) {
	for _, v := range column.(*array.Float64).Float64Values() {
		for name, hit := range map[string]bool{
			"nan": math.IsNaN(v), "infinite": math.IsInf(v, 1), "small": v < -1e300,
			"large": v > 1e300 || math.IsNaN(v), // DuckDB orders NaN above all numbers
		} {
			if hit {
				counts[name]++
			}
		}
	}
}

func (f *facts) add(column arrow.Array) {
	f.Nulls += column.NullN()
	switch c := column.(type) {
	case *array.Uint64:
		addIntegers(f, c, "uint64")
	case *array.Uint32:
		addIntegers(f, c, "uint32")
	case *array.Uint16:
		addIntegers(f, c, "uint16")
	case *array.Uint8:
		addIntegers(f, c, "uint8")
	case *array.Int64:
		addIntegers(f, c, "int64")
	case *array.Int32:
		addIntegers(f, c, "int32")
	case *array.Int16:
		addIntegers(f, c, "int16")
	case *array.Float64:
		f.Type = "double"
		f.addFloats(c)
	case *array.String:
		for i := range c.Len() {
			f.Size += len([]rune(c.Value(i)))
		}
	case array.ListLike:
		for i := range c.Len() {
			from, to := c.ValueOffsets(i)
			f.Size += int(to - from)
		}
	}
}

func (f *facts) addFloats(c *array.Float64) {
	for i := range c.Len() {
		v := c.Value(i)
		switch {
		case c.IsNull(i):
		case math.IsNaN(v):
			f.NaN++
		case math.IsInf(v, 0):
			f.Infinite++
		case v == 0 && math.Signbit(v):
			f.NegativeZero++
		}
	}
}

type integers[N any] interface {
	Len() int
	IsNull(i int) bool
	Value(i int) N
}

func addIntegers[N uint8 | uint16 | uint32 | uint64 | int16 | int32 | int64](f *facts, column integers[N], name string) {
	f.Type = name
	for i := range column.Len() {
		if column.IsNull(i) {
			continue
		}
		v := column.Value(i)
		least, greatest := v, v
		if f.Least != "" {
			_, _ = fmt.Sscan(f.Least+" "+f.Greatest, &least, &greatest)
		}
		f.Least, f.Greatest = fmt.Sprint(min(least, v)), fmt.Sprint(max(greatest, v))
	}
}

// findPython is the interpreter that has the packages of testdata/requirements.txt.
func findPython(t *testing.T) string {
	t.Helper()
	if python := os.Getenv("TENSORTAP_PYTHON"); python != "" {
		return python
	}
	dir, err := os.Getwd()
	must(t, err)
	for {
		python := filepath.Join(dir, ".tools", "venv", "bin", "python")
		if _, err := os.Stat(python); err == nil {
			return python
		}
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil || dir == filepath.Dir(dir) {
			break
		}
		dir = filepath.Dir(dir)
	}
	needed(t, "no Python with DuckDB and pyarrow: python3 -m venv .tools/venv && .tools/venv/bin/pip install -r consumers/parquet/testdata/requirements.txt")
	return ""
}

// needed skips a test that lacks something, but not in CI.
func needed(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("REQUIRE_SERVICES") == "1" {
		t.Fatal(reason)
	}
	t.Skip("SKIPPED: " + reason)
}

func TestNoColumnIsNamedAsAFolderKey(t *testing.T) {
	t.Parallel()
	for _, table := range schemas.Tables() {
		if table.Column("event") >= 0 || table.Column("run") >= 0 {
			t.Errorf("%s has a column that readers would take for the name of its folder", table.Name)
		}
	}
}
