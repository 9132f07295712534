package asked

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Frame is an answer, as the data source has it before it becomes one of Grafana.
type Frame struct {
	Columns, Types []string
	Rows           [][]any
}

// bare is a type without what Grafana does not care for.
func bare(databaseType string) string {
	for _, around := range []string{"Nullable(", "LowCardinality("} {
		if inner, ok := strings.CutPrefix(databaseType, around); ok {
			return bare(strings.TrimSuffix(inner, ")"))
		}
	}
	name, _, _ := strings.Cut(databaseType, "(")
	return name
}

// asTime is a value of a column whose type isTime.
func asTime(value any) time.Time {
	t, _ := value.(time.Time)
	return t
}

func isNumber(databaseType string) bool {
	name := bare(databaseType)
	return strings.HasPrefix(name, "Int") || strings.HasPrefix(name, "UInt") || strings.HasPrefix(name, "Float")
}

func isTime(databaseType string) bool { return strings.HasPrefix(bare(databaseType), "DateTime") }

// Empty says whether there is no row: then the driver names no columns either.
func (f Frame) Empty() bool { return len(f.Rows) == 0 }

// Series checks an answer that becomes lines over time: time, names of the line, value, in the order of time.
func (f Frame) Series() error {
	if f.Empty() {
		return nil
	}
	last := len(f.Columns) - 1
	if last < 1 || !isTime(f.Types[0]) || !isNumber(f.Types[last]) {
		return fmt.Errorf("columns %v of %v: want a time first and a number last", f.Columns, f.Types)
	}
	for i := 1; i < last; i++ {
		if bare(f.Types[i]) != "String" {
			return fmt.Errorf("column %s of %s: want a text, which names the line", f.Columns[i], f.Types[i])
		}
	}
	return f.ordered(0, last, func(a, b any) bool { return asTime(a).After(asTime(b)) })
}

// Lines checks an answer that becomes lines over steps.
func (f Frame) Lines() error {
	if f.Empty() {
		return nil
	}
	if !slices.Equal(f.Columns, []string{"step", "line", "value"}) || !isNumber(f.Types[0]) || bare(f.Types[1]) != "String" || !isNumber(f.Types[2]) {
		return fmt.Errorf("columns %v of %v: want step, line, value", f.Columns, f.Types)
	}
	return f.ordered(0, 2, func(a, b any) bool { return Number(a) > Number(b) })
}

// ordered checks that a column never falls, and that no line has two values at one place.
func (f Frame) ordered(column, value int, after func(a, b any) bool) error {
	seen := map[string]bool{}
	for i, row := range f.Rows {
		if i > 0 && after(f.Rows[i-1][column], row[column]) {
			return fmt.Errorf("row %d: %v comes after %v", i, row[column], f.Rows[i-1][column])
		}
		key := fmt.Sprint(row[:value])
		if seen[key] {
			return fmt.Errorf("row %d: a second value for %s", i, key)
		}
		seen[key] = true
	}
	return nil
}

// Figures checks an answer that becomes big figures.
func (f Frame) Figures() error {
	if f.Empty() {
		return nil
	}
	if len(f.Columns) != 2 || bare(f.Types[0]) != "String" || !isNumber(f.Types[1]) {
		return fmt.Errorf("columns %v of %v: want a text and a number", f.Columns, f.Types)
	}
	return nil
}

// Logs checks an answer that becomes lines of a log, the latest first.
func (f Frame) Logs() error {
	if f.Empty() {
		return nil
	}
	if len(f.Columns) < 3 || !slices.Equal(f.Columns[:3], []string{"timestamp", "body", "level"}) || !isTime(f.Types[0]) {
		return fmt.Errorf("columns %v of %v: want timestamp, body, level", f.Columns, f.Types)
	}
	for i := 1; i < len(f.Rows); i++ {
		if asTime(f.Rows[i][0]).After(asTime(f.Rows[i-1][0])) {
			return fmt.Errorf("row %d is later than the row before it", i)
		}
	}
	return nil
}

// Cases checks the answer of an alert rule: one number, and texts that become labels.
func (f Frame) Cases() error {
	if f.Empty() {
		return nil
	}
	numbers := 0
	for i, name := range f.Types {
		switch {
		case isNumber(name) && f.Columns[i] == "value":
			numbers++
		case bare(name) != "String":
			return fmt.Errorf("column %s of %s: an alert's labels are texts", f.Columns[i], name)
		}
	}
	if numbers != 1 {
		return fmt.Errorf("columns %v: want one number, named value", f.Columns)
	}
	return nil
}

// String is the rows, one a line.
func (f Frame) String() string {
	var b strings.Builder
	for _, row := range f.Rows {
		for i, value := range row {
			fmt.Fprintf(&b, "%s=%s ", f.Columns[i], Text(value))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
