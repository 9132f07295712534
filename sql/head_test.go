package sql

import (
	"strings"
	"testing"
)

func TestHeadIsCheckedAgainstTheQuery(t *testing.T) {
	t.Parallel()
	const head = "-- Question: q?\n-- Grain: one row\n-- Reads: tap.runs\n-- Empty when: never\n"
	for _, c := range []struct{ file, text, want string }{
		{"x_report.sql", head + "-- Parameter a: what.\n-- Parameter b = 1: what.\nSELECT {a:String}, {b:Int64}", ""},
		{"x_report.sql", head + "SELECT {a:String}", "parameter a is not documented"},
		{"x_report.sql", head + "-- Parameter a: what.\nSELECT 1 -- {a:String}", ""},
		{"x_report.sql", head + "-- Parameter a: what.\n-- {a:String}\nSELECT 1", "parameter a is not used"},
		{"x_report.sql", head + "-- Parameter a: what.\n-- Parameter a: what.\nSELECT {a:String}", "documented twice"},
		{"x_report.sql", head + "-- Parameter a:\nSELECT {a:String}", "line 5: want"},
		{"x_report.sql", head + "-- Parameter a: what.\nSELECT {a:String}, {a:Int64}", "used as String and as Int64"},
		{"x_report.sql", "-- Question: q?\nSELECT 1", `line 2: want "-- Grain: …"`},
		{"x.sql", head + "SELECT 1", "want LN_object.sql"},
		{"L9_x.sql", head + "SELECT 1", "want LN_object.sql"},
	} {
		_, err := parse(c.file, c.text)
		if got := errorText(err); (c.want == "") != (err == nil) || !strings.Contains(got, c.want) {
			t.Errorf("parse(%s, %q) = %q, want %q", c.file, c.text, got, c.want)
		}
	}
}

func TestAParameterMayBeEmptyText(t *testing.T) {
	t.Parallel()
	found, err := parameters([]string{"-- Parameter a = '': what.", "-- Parameter b: what."}, "SELECT {a:String}, {b:String}")
	if err != nil || len(found) != 2 || found[0].Required || found[0].Default != "" || !found[1].Required {
		t.Errorf("parameters = %+v, %v; want a with the empty default and b required", found, err)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
