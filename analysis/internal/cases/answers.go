package cases

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// CheckRows holds the rows of a report against those that the database answers.
func CheckRows(tb testing.TB, got, want Table) {
	tb.Helper()
	if !slices.Equal(got.Columns, want.Columns) {
		tb.Fatalf("columns\n%q, want\n%q", got.Columns, want.Columns)
	}
	if len(got.Rows) != len(want.Rows) {
		tb.Fatalf("%d rows, want %d:\n%s\nwant\n%s", len(got.Rows), len(want.Rows), got.Text(), want.Text())
	}
	for i, row := range want.Rows {
		for c, value := range row {
			if !sameValue(got.Rows[i][c], value) {
				tb.Errorf("row %d: %s is %q, want %q", i, want.Columns[c], got.Rows[i][c], value)
			}
		}
	}
}

// sameValue allows for another order of the same sum.
func sameValue(got, want string) bool {
	a, notA := strconv.ParseFloat(got, 64)
	b, notB := strconv.ParseFloat(want, 64)
	if got == want || notA != nil || notB != nil || !strings.ContainsAny(want, ".e") {
		return got == want
	}
	return math.Abs(a-b) <= 1e-13*math.Abs(b)
}

// TextOf is a record as the database writes it in tab-separated text.
func TextOf(record arrow.RecordBatch) Table {
	var table Table
	for _, field := range record.Schema().Fields() {
		table.Columns = append(table.Columns, field.Name)
	}
	for i := range int(record.NumRows()) {
		var row []string
		for _, column := range record.Columns() {
			row = append(row, cell(column, i))
		}
		table.Rows = append(table.Rows, row)
	}
	return table
}

func cell(column arrow.Array, i int) string {
	if column.IsNull(i) {
		return `\N`
	}
	switch c := column.(type) {
	case *array.Float64:
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(c.Value(i), 'g', -1, 64), "+"))
	case *array.String:
		return strings.NewReplacer(`\`, `\\`, "\t", `\t`, "\n", `\n`, `'`, `\'`).Replace(c.Value(i))
	case *array.List:
		return list(c, i)
	}
	return column.ValueStr(i)
}

func list(c *array.List, i int) string {
	begin, end := c.ValueOffsets(i)
	values := []string{}
	for k := begin; k < end; k++ {
		if texts, ok := c.ListValues().(*array.String); ok {
			quoted, _ := json.Marshal(texts.Value(int(k)))
			values = append(values, "'"+strings.Trim(string(quoted), `"`)+"'")
			continue
		}
		values = append(values, c.ListValues().ValueStr(int(k)))
	}
	return "[" + strings.Join(values, ",") + "]"
}
