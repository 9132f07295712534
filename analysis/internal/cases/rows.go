package cases

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/schemas"
)

// RowsOf are the rows of an event that a case gives, as RowsOf[schemas.StepRow](t, c). Columns that it lacks are zero.
func RowsOf[R any, P schemas.Row[R]](tb testing.TB, c *Case) []R {
	tb.Helper()
	table := c.tables[P(new(R)).Table().Kind()]
	list := make([]R, len(table.Rows))
	for i, fields := range table.Rows {
		row := reflect.ValueOf(&list[i]).Elem()
		for j, column := range table.Columns {
			if err := set(fieldOf(row, column), fields[j]); err != nil {
				tb.Fatalf("case %s: column %s of row %d: %v", c.Name, column, i, err)
			}
		}
	}
	return list
}

// fieldOf is the field of a column.
func fieldOf(row reflect.Value, column string) reflect.Value {
	for i := range row.NumField() {
		name, _, _ := strings.Cut(row.Type().Field(i).Tag.Get("parquet"), ",")
		if name == column {
			return row.Field(i)
		}
	}
	return reflect.Value{}
}

// set reads a value as the database does in tab-separated text.
func set(field reflect.Value, text string) error {
	switch {
	case text == `\N`:
		return nil
	case field.Kind() == reflect.Pointer:
		field.Set(reflect.New(field.Type().Elem()))
		return set(field.Elem(), text)
	case field.Kind() == reflect.String:
		field.SetString(text)
		return nil
	case field.Kind() == reflect.Slice, field.Kind() == reflect.Map:
		return json.Unmarshal([]byte(strings.ReplaceAll(text, "'", `"`)), field.Addr().Interface())
	}
	return setNumber(field, text)
}
