// Package cases reads, for tests, cases of answers: tables of events going in, parameters, and the rows wanted. What
// answers in Go beside a view in SQL is held against the same cases, those of sql/testdata.
package cases

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tensortap/tensortap/schemas"
)

const (
	folder         = "sql/testdata"
	parametersFile = "parameters"
	wantFile       = "want.tsv"
)

// Case is one case of one view or report.
type Case struct {
	Name       string            // of its file, without the ending
	Parameters map[string]string // those that are not the usual ones
	Want       Table
	tables     map[string]Table
}

// Table is rows as text.
type Table struct {
	Columns []string
	Rows    [][]string
}

// All are the cases of an object, as rank_pairs. One without tables has those of the input of its name.
func All(tb testing.TB, object string) []*Case {
	tb.Helper()
	return In(tb, filepath.Join(root(tb), folder, object))
}

// In are the cases in a folder, which may be one of the test's own.
func In(tb testing.TB, dir string) []*Case {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("cases in %s: none found (%v)", dir, err)
	}
	var list []*Case
	for _, file := range files {
		list = append(list, read(tb, file))
	}
	return list
}

// root is the folder of the repository, which is above that of the test.
func root(tb testing.TB) string {
	tb.Helper()
	dir, err := filepath.Abs(".")
	for err == nil && dir != filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		dir = filepath.Dir(dir)
	}
	tb.Fatal("no go.mod above the folder of the test")
	return ""
}

func read(tb testing.TB, file string) *Case {
	tb.Helper()
	c := &Case{Name: strings.TrimSuffix(filepath.Base(file), ".txtar"), Parameters: map[string]string{}}
	archive := open(tb, file)
	for _, f := range archive.Files {
		switch f.Name {
		case wantFile:
			c.Want = parse(string(f.Data))
		case parametersFile:
			for line := range strings.Lines(string(f.Data)) {
				name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
				c.Parameters[name] = value
			}
		}
	}
	c.tables = tablesOf(archive)
	if len(c.tables) == 0 {
		c.tables = tablesOf(open(tb, filepath.Join(root(tb), folder, "input", filepath.Base(file))))
	}
	return c
}

func open(tb testing.TB, file string) *txtar.Archive {
	tb.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		tb.Fatalf("read a case: %v", err)
	}
	return archive
}

func tablesOf(archive *txtar.Archive) map[string]Table {
	tables := map[string]Table{}
	for _, f := range archive.Files {
		if name, ok := strings.CutSuffix(f.Name, ".tsv"); ok && f.Name != wantFile {
			tables[name] = parse(ExpandIDs(string(f.Data)))
		}
	}
	return tables
}

func parse(text string) Table {
	var t Table
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if t.Columns == nil {
			t.Columns = fields
			continue
		}
		t.Rows = append(t.Rows, fields)
	}
	return t
}

// ExpandIDs writes the ids for (run NAME), (op NAME) and (site OP ROLE PATH).
func ExpandIDs(text string) string {
	return regexp.MustCompile(`\((run|op|site) ([^()]+)\)`).ReplaceAllStringFunc(text, func(call string) string {
		words := strings.Fields(strings.Trim(call, "()"))
		id := schemas.OpID(words[1])
		switch words[0] {
		case "run":
			id = schemas.RunID(words[1])
		case "site":
			id = schemas.SiteID(id, words[2], words[3])
		}
		return strconv.FormatUint(id, 10)
	})
}

// Text is the table as it stands in a case, its rows in order.
func (t Table) Text() string {
	lines := make([]string, 0, len(t.Rows)+1)
	for _, row := range append([][]string{t.Columns}, t.Rows...) {
		lines = append(lines, strings.Join(row, "\t")+"\n")
	}
	return strings.Join(lines, "")
}

// Integer is a parameter, or another number where the case does not give it.
func (c *Case) Integer(tb testing.TB, parameter string, otherwise int64) int64 {
	tb.Helper()
	text, ok := c.Parameters[parameter]
	if !ok {
		return otherwise
	}
	number, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		tb.Fatalf("case %s: parameter %s: %v", c.Name, parameter, err)
	}
	return number
}
