package explain

import (
	"slices"
	"strconv"
	"testing"

	"github.com/tensortap/tensortap/analysis/internal/cases"
)

func TestOpsAreFoundByTheirNamesAsTheDatabaseFindsThem(t *testing.T) {
	t.Parallel()
	for _, c := range cases.All(t, "op_names_report") {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			runs := cases.RunsOf(t, c)
			got := matches(runs.Problem, runs.Bench, runs.Definitions, c.Parameters["name"])
			if len(got) != len(c.Want.Rows) {
				t.Fatalf("%d ops, want %d", len(got), len(c.Want.Rows))
			}
			for i, row := range c.Want.Rows {
				want := func(column string) string { return row[slices.Index(c.Want.Columns, column)] }
				by := []string{"name", "module", "part", "near"}[got[i].by]
				if got[i].op.Name != want("op") || by != want("matched_by") || got[i].inProblem != (want("in_problem") == "1") {
					t.Errorf("row %d is %s by %s, want %q", i, got[i].op.Name, by, row)
				}
			}
		})
	}
}

func TestDistanceIsThatOfTheDatabase(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"Functional.linear.0.forward", "linear", 0.7777778},
		{"Module.layers.0.Linear.forward.0", "linear", 0.8125},
		{"Functional.relu.0.forward", "linear", 1},
		{"LINEAR", "linear", 0},
		{"", "linear", 1},
		{"abc", "abc", 0}, // too short for a group of letters
	} {
		if got := strconv.FormatFloat(newDistance(c.b).to(c.a), 'g', 7, 32); got != strconv.FormatFloat(c.want, 'g', 7, 32) {
			t.Errorf("distance of %q to %q is %s, want %v", c.a, c.b, got, c.want)
		}
	}
}
