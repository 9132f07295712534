package grafana

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/tensortap/tensortap/sql"
)

// Query is one SELECT from one view or report. In its texts $name stands for a variable of the dashboard.
type Query struct {
	Select string
	From   string            // a view of database tap with its own name, or a table of database system
	With   map[string]string // a view's parameters: text, or a variable; those left out take the default of its head
	Where  string
	Rest   string // what follows WHERE
}

// SQL is the query as the data source takes it, or an error where no view takes such parameters.
func (q Query) SQL() (string, error) {
	from, err := q.source()
	if err != nil {
		return "", err
	}
	clauses := []string{"SELECT " + q.Select, "FROM " + from}
	if q.Where != "" {
		clauses = append(clauses, "WHERE "+q.Where)
	}
	if q.Rest != "" {
		clauses = append(clauses, q.Rest)
	}
	return variables(strings.Join(clauses, "\n")), nil
}

// source is the view with its arguments.
func (q Query) source() (string, error) {
	if strings.HasPrefix(q.From, "system.") {
		return q.From, nil
	}
	view, err := viewNamed(q.From)
	if err != nil {
		return "", err
	}
	arguments, err := q.arguments(view)
	if err != nil || len(arguments) == 0 {
		return "tap." + q.From, err
	}
	return fmt.Sprintf("tap.%s(\n    %s)", q.From, strings.Join(arguments, ",\n    ")), nil
}

func (q Query) arguments(view sql.Object) ([]string, error) {
	left := maps.Clone(q.With)
	arguments := make([]string, 0, len(view.Parameters))
	for _, p := range view.Parameters {
		value, given := left[p.Name]
		if !given && p.Required {
			return nil, fmt.Errorf("query of %s: parameter %s has no default and is not given", q.From, p.Name)
		}
		if !given {
			value = p.Default
		}
		delete(left, p.Name)
		arguments = append(arguments, p.Name+" = "+literal(value))
	}
	if len(left) > 0 {
		return nil, fmt.Errorf("query of %s: it has no parameter %s", q.From, strings.Join(slices.Sorted(maps.Keys(left)), ", "))
	}
	return arguments, nil
}

// literal is text of ours as SQL; a view takes numbers as text, too.
func literal(value string) string {
	if strings.HasPrefix(value, "$") {
		return value
	}
	return "'" + value + "'"
}

func viewNamed(name string) (sql.Object, error) {
	views, err := sql.Views()
	if err != nil {
		return sql.Object{}, err
	}
	reports, err := sql.Reports()
	if err != nil {
		return sql.Object{}, err
	}
	for _, o := range append(views, reports...) {
		if o.View() == name {
			return o, nil
		}
	}
	return sql.Object{}, fmt.Errorf("query of %s: sql has no such view or report", name)
}

// variables writes each $name as Grafana reads it. A value travels percent-encoded: of Grafana's forms with quotes, none
// escapes a backslash, with which ClickHouse ends a text elsewhere than Grafana thinks. Macros ($__name) stay.
func variables(text string) string {
	return regexp.MustCompile(`\$[a-z][a-z_]*`).ReplaceAllStringFunc(text, func(name string) string {
		return "decodeURLComponent('${" + name[1:] + ":percentencode}')"
	})
}

// inRange keeps rows of the time that is shown. It compares the column itself, by which tables are sorted or parted.
func inRange(column string) string {
	return fmt.Sprintf("%[1]s >= toUnixTimestamp64Nano(toDateTime64($__fromTime, 9)) AND %[1]s <= toUnixTimestamp64Nano(toDateTime64($__toTime, 9))", column)
}

// moment is the column, of nanoseconds, as a time.
func moment(column string) string { return "fromUnixTimestamp64Nano(" + column + ", 'UTC')" }

// bucket is the start of the interval that the column, of nanoseconds, is in.
func bucket(column string) string { return "$__timeInterval(" + moment(column) + ")" }
