package sql_test

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tensortap/tensortap/sql"
)

// TestColumnsOfReportsAreThoseOfTheirAnswers holds what is read from a file against what the engine answered to its first case.
func TestColumnsOfReportsAreThoseOfTheirAnswers(t *testing.T) {
	t.Parallel()
	reports, err := sql.Reports()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		archive, err := txtar.ParseFile(filepath.Join("testdata", r.View(), "plain.txtar"))
		if err != nil {
			t.Fatal(err)
		}
		answer, found := section(archive, wantFile)
		want, _, _ := strings.Cut(answer, "\n")
		if got := strings.Join(r.Columns(), "\t"); !found || got != want {
			t.Errorf("report %s has columns %q, its file %q", r.Name, want, got)
		}
	}
}
