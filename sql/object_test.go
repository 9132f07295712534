package sql_test

import (
	"errors"
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/tensortap/tensortap/sql"
)

// The cases live in testdata/OBJECT/CASE.txtar: a remark, tables going in, parameters, the rows wanted. A case without
// tables takes those of testdata/input/CASE.txtar, which the objects share.
var update = flag.Bool("update", false, "write the rows that the objects answer into testdata") //nolint:gochecknoglobals // a flag of the test binary

// requiredCases are those that every object has; a rule of alerts its planted case, and the healthy one.
func requiredCases(object sql.Object) []string {
	if object.Layer == sql.LayerAlert {
		return []string{"fires", "silent"}
	}
	return []string{"plain", "empty", "duplicate", "missing_rank", "not_finite"}
}

const (
	parametersFile = "parameters"
	inputFile      = "input" // names another case, as hang_report/plain, of which this one takes the tables that it has not itself
	wantFile       = "want.tsv"
)

// example is one case of one object.
type example struct {
	object  sql.Object
	file    string
	archive *txtar.Archive
	input   string // the file that its tables are in
	tables  map[string]string
}

func allObjects(t *testing.T) []sql.Object {
	t.Helper()
	views, err := sql.Views()
	if err != nil {
		t.Fatal(err)
	}
	reports, err := sql.Reports()
	if err != nil {
		t.Fatal(err)
	}
	rules, err := sql.Rules()
	if err != nil {
		t.Fatal(err)
	}
	objects := append(views, reports...)
	for i := range rules {
		objects = append(objects, rules[i].Object)
	}
	return objects
}

func TestEveryObjectHasTheRequiredCases(t *testing.T) {
	t.Parallel()
	for _, object := range allObjects(t) {
		for _, name := range requiredCases(object) {
			file := filepath.Join("testdata", object.View(), name+".txtar")
			if _, err := os.Stat(file); err != nil && !*update {
				t.Errorf("object %s has no case %s; run the tests with -update and read what they write", object.Name, name)
			}
		}
	}
}

func TestObjectsAnswerTheirCases(t *testing.T) {
	t.Parallel()
	database := startDatabase(t)
	byInput := map[string][]example{}
	for _, e := range examples(t) {
		byInput[e.input] = append(byInput[e.input], e)
	}
	for _, input := range slices.Sorted(maps.Keys(byInput)) { //nolint:paralleltest // the cases share the tables
		loaded := false // by the first case that is not left out by -run
		for _, e := range byInput[input] {
			t.Run(strings.TrimSuffix(strings.TrimPrefix(e.file, "testdata/"), ".txtar"), func(t *testing.T) {
				if !loaded {
					database.load(t, e.tables)
					loaded = true
				}
				e.check(t, database)
			})
		}
	}
}

func (e *example) check(t *testing.T, database *database) {
	t.Helper()
	parameters := e.parameters()
	if e.object.Judged() {
		parameters = database.judge(t, e.object, parameters)
	}
	got := database.ask(t, e.object, parameters)
	if *update {
		e.write(t, got)
		return
	}
	want, found := section(e.archive, wantFile)
	if !found {
		t.Fatalf("%s has no %s; run with -update and read what it writes", e.file, wantFile)
	}
	if got != want {
		t.Errorf("object %s, case %s\ngot\n%s\nwant\n%s", e.object.Name, e.file, got, want)
	}
}

// parameters are the object's defaults, what most cases ask, and what the case itself says.
func (e *example) parameters() map[string]string {
	usual := map[string]string{"problem": "problem", "bench": "bench", "run": "problem"}
	values := map[string]string{}
	for _, p := range e.object.Parameters {
		values[p.Name] = p.Default
		if p.Required {
			values[p.Name] = usual[p.Name]
		}
	}
	given, _ := section(e.archive, parametersFile)
	for line := range strings.Lines(given) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[name] = value
	}
	return values
}

func (e *example) write(t *testing.T, got string) {
	t.Helper()
	files := slices.DeleteFunc(slices.Clone(e.archive.Files), func(f txtar.File) bool { return f.Name == wantFile })
	archive := txtar.Archive{Comment: e.archive.Comment, Files: append(files, txtar.File{Name: wantFile, Data: []byte(got)})}
	if err := os.MkdirAll(filepath.Dir(e.file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(e.file, txtar.Format(&archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

func section(archive *txtar.Archive, name string) (string, bool) {
	for _, f := range archive.Files {
		if f.Name == name {
			return string(f.Data), true
		}
	}
	return "", false
}

// examples reads the cases of all objects, required or not.
func examples(t *testing.T) []example {
	t.Helper()
	var found []example
	for _, object := range allObjects(t) {
		folder := filepath.Join("testdata", object.View())
		names := map[string]bool{}
		for _, name := range requiredCases(object) {
			names[filepath.Join(folder, name+".txtar")] = true
		}
		files, err := filepath.Glob(filepath.Join(folder, "*.txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			names[file] = true
		}
		for _, file := range slices.Sorted(maps.Keys(names)) {
			found = append(found, readExample(t, object, file))
		}
	}
	return found
}

func readExample(t *testing.T, object sql.Object, file string) example {
	t.Helper()
	e := example{object: object, file: file, input: file}
	e.archive = readArchive(t, file)
	e.tables = tablesOf(e.archive)
	input := inputOf(e.archive, filepath.Join("input", strings.TrimSuffix(filepath.Base(file), ".txtar")))
	switch _, named := section(e.archive, inputFile); {
	case len(e.tables) == 0:
		e.input, e.tables = input, tablesOf(readArchive(t, input))
	case named:
		own := e.tables
		e.tables = tablesOf(readArchive(t, input))
		maps.Copy(e.tables, own)
	}
	return e
}

// inputOf is the file of the case that the archive names, or else of that one.
func inputOf(archive *txtar.Archive, shared string) string {
	if named, found := section(archive, inputFile); found {
		shared = strings.TrimSpace(named)
	}
	return filepath.Join("testdata", filepath.FromSlash(shared)+".txtar")
}

// readArchive reads a case; one that -update is to write is empty at first.
func readArchive(t *testing.T, file string) *txtar.Archive {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if errors.Is(err, fs.ErrNotExist) && *update {
		return &txtar.Archive{}
	}
	if err != nil {
		t.Fatalf("read a case: %v", err)
	}
	return archive
}

// tablesOf returns the rows going in, by table: TABLE.tsv with the names of its columns first.
func tablesOf(archive *txtar.Archive) map[string]string {
	tables := map[string]string{}
	for _, f := range archive.Files {
		if name, ok := strings.CutSuffix(f.Name, ".tsv"); ok && f.Name != wantFile {
			tables[name] = string(f.Data)
		}
	}
	return tables
}

// answer is the query of all columns of an object.
func answer(object sql.Object) string {
	if object.Layer >= sql.LayerReport {
		return object.Query
	}
	query := "SELECT * FROM tap." + object.View()
	if len(object.Parameters) > 0 {
		var arguments []string
		for _, p := range object.Parameters {
			arguments = append(arguments, p.Name+" = {"+p.Name+":"+p.Type+"}")
		}
		query += "(" + strings.Join(arguments, ", ") + ")"
	}
	return query + " ORDER BY ALL"
}
