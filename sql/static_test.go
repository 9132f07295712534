package sql_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/AfterShip/clickhouse-sql-parser/parser"
	"golang.org/x/tools/txtar"

	"github.com/tensortap/tensortap/schemas"
	"github.com/tensortap/tensortap/sql"
)

// What can be said of the files without a server.

func TestFilesParse(t *testing.T) {
	t.Parallel()
	for _, object := range allObjects(t) {
		statements, err := parser.NewParser(parserText(object)).ParseStmts()
		if err != nil {
			t.Errorf("object %s does not parse: %v", object.View(), err)
			continue
		}
		if _, isSelect := statements[0].(*parser.SelectQuery); len(statements) != 1 || !isSelect {
			t.Errorf("object %s is not one SELECT", object.View())
		}
	}
}

func TestFilesReadWhatTheySay(t *testing.T) {
	t.Parallel()
	layers := map[string]sql.Layer{}
	for table := range tableColumns(t) {
		layers[table] = -1
	}
	for _, object := range allObjects(t) {
		layers["tap."+object.View()] = object.Layer
	}
	for _, object := range allObjects(t) {
		got := sources(object)
		if want := slices.Sorted(slices.Values(object.Reads)); !slices.Equal(got, want) {
			t.Errorf("object %s reads %q, its head says %q", object.View(), got, want)
		}
		for _, source := range got {
			if layer, found := layers[source]; !found || layer >= object.Layer {
				t.Errorf("object %s of layer %d reads %s, which is not there or of layer %d", object.View(), object.Layer, source, layer)
			}
		}
	}
}

func TestFilesNameOnlyColumnsThatExist(t *testing.T) {
	t.Parallel()
	columns := tableColumns(t)
	for _, object := range allObjects(t) {
		known := map[string]bool{"inf": true, "nan": true, "true": true, "false": true, "NULL": true, "tap_store": true, "tap": true}
		for _, source := range sources(object) {
			_, bare, _ := strings.Cut(source, ".")
			known[bare] = true
			for _, c := range columns[source] {
				known[c] = true
			}
		}
		given, used := identifiers(t, object)
		for _, name := range aliases(object) {
			known[name] = true
		}
		for _, name := range used {
			if !known[name] {
				t.Errorf("object %s names %s, which neither it nor what it reads defines", object.View(), name)
			}
		}
		columns["tap."+object.View()] = append(given, aliases(object)...)
	}
}

func TestFilesKeepTheStyle(t *testing.T) {
	t.Parallel()
	lower := regexp.MustCompile(`\b(select|from|where|group by|order by|limit|left join|inner join|having|union all|with)\b`)
	for _, object := range allObjects(t) {
		code := regexp.MustCompile(`'[^']*'|\{\w+:[\w(), ]+\}`).ReplaceAllString(withoutComments(parserText(object)), "''")
		if found := lower.FindString(code); found != "" {
			t.Errorf("object %s: keyword %q is not upper case", object.View(), found)
		}
		if regexp.MustCompile(`SELECT\s+(\w+\.)?\*`).MatchString(code) {
			t.Errorf("object %s: SELECT * does not say which columns it gives", object.View())
		}
		if object.Layer >= sql.LayerReport && !strings.Contains(code, "\nORDER BY") {
			t.Errorf("report %s has no order", object.Name)
		}
		if len(object.Parameters) == 0 && object.Layer >= sql.LayerReport {
			t.Errorf("report %s has no parameters", object.Name)
		}
	}
}

func TestReportsOfManyColumnsSayWhichArePeoples(t *testing.T) {
	t.Parallel()
	const most = 14
	reports, err := sql.Reports()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		columns := columnsOf(t, r)
		if len(columns) > most && len(r.Shown) == 0 || len(r.Shown) > most {
			t.Errorf("report %s has %d columns and shows %d of them to people: say which in its head, -- Shown: …, at most %d", r.Name, len(columns), len(r.Shown), most)
		}
		for _, name := range r.Shown {
			if !slices.Contains(columns, name) {
				t.Errorf("report %s shows %s, which it does not answer", r.Name, name)
			}
		}
	}
}

// columnsOf are those that the plain case of a report answers.
func columnsOf(t *testing.T, r sql.Report) []string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", r.View(), "plain.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	want, found := section(archive, wantFile)
	if !found {
		t.Fatalf("the plain case of report %s has no %s", r.Name, wantFile)
	}
	first, _, _ := strings.Cut(want, "\n")
	return strings.Split(first, "\t")
}

func TestReportsThatSayWhyOthersAreEmptyTakeNoMoreThanThoseDo(t *testing.T) {
	t.Parallel()
	reports, err := sql.Reports()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		if r.Because == "" {
			continue
		}
		why, err := sql.ReportByName(r.Because)
		if err != nil || !strings.Contains(why.Query, " AS explanation") {
			t.Errorf("report %s is empty because of %q, which has no column explanation: %v", r.Name, r.Because, err)
		}
		for _, p := range why.Parameters {
			if !slices.ContainsFunc(r.Parameters, func(own sql.Parameter) bool { return own.Name == p.Name }) {
				t.Errorf("report %s takes %s, which %s does not", r.Because, p.Name, r.Name)
			}
		}
	}
}

func TestReportByNameListsTheReports(t *testing.T) {
	t.Parallel()
	report, err := sql.ReportByName("divergence")
	if err != nil || len(report.Parameters) == 0 || !report.Parameters[0].Required || report.Parameters[3].Default != "-1" {
		t.Errorf("ReportByName(divergence) = %+v, %v", report.Parameters, err)
	}
	if _, err := sql.ReportByName("nonsense"); err == nil || !strings.Contains(err.Error(), "divergence_summary") {
		t.Errorf("ReportByName(nonsense) = %v, want the names of those there are", err)
	}
}

// tableColumns are the columns of every table: of events, and of those that a migration makes from them.
func tableColumns(t *testing.T) map[string][]string {
	t.Helper()
	columns := map[string][]string{}
	for _, table := range schemas.Tables() {
		for _, c := range table.Columns {
			columns["tap_store."+table.Kind()] = append(columns["tap_store."+table.Kind()], c.Name)
		}
	}
	for table, file := range map[string]string{"tap_store.trend": "tables/018_trend.sql", "tap_store.removal": "tables/044_removal.sql"} {
		text, err := sql.Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?m)^    `(\\w+)` ").FindAllStringSubmatch(string(text), -1) {
			columns[table] = append(columns[table], m[1])
		}
	}
	return columns
}

// sources are the tables and views named in FROM, JOIN and IN, sorted.
func sources(object sql.Object) []string {
	named := regexp.MustCompile(`\b(?:FROM|JOIN)\s+(tap(?:_store)?\.\w+)`)
	var found []string
	for _, m := range named.FindAllStringSubmatch(withoutComments(object.Query), -1) {
		found = append(found, m[1])
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// parserText leaves out settings, and the arguments of views, which the parser does not know after a database's name.
func parserText(object sql.Object) string {
	text := regexp.MustCompile(`\{\w+:[\w(), ]+\}`).ReplaceAllString(object.Query, "0")
	text = strings.ReplaceAll(text, " PASTE JOIN\n", " CROSS JOIN\n")     // which it does not know
	text = regexp.MustCompile(`\nSETTINGS .*`).ReplaceAllString(text, "") // whose names are no columns
	return regexp.MustCompile(`((?:FROM|JOIN) tap\.\w+)\([^()]*\)`).ReplaceAllString(text, "$1")
}

// aliases are the names that a file defines: of columns, tables, parts and arguments of functions. What one part of the
// file defines counts everywhere in it: the server is stricter.
func aliases(object sql.Object) []string {
	var found []string
	definition := regexp.MustCompile(`\bAS (\w+)|(\w+) AS \(|\(?(?:(\w+), )?(\w+)\)? ->`)
	for _, m := range definition.FindAllStringSubmatch(withoutComments(object.Query), -1) {
		found = append(found, slices.DeleteFunc(m[1:], func(name string) bool { return name == "" })...)
	}
	return found
}

// identifiers are the names that a file uses, and those of them that stand alone on a line, as columns that are passed on.
func identifiers(t *testing.T, object sql.Object) (passedOn, used []string) {
	t.Helper()
	text := parserText(object)
	statements, err := parser.NewParser(text).ParseStmts()
	if err != nil {
		t.Fatalf("object %s does not parse: %v", object.View(), err)
	}
	for _, m := range regexp.MustCompile("(?m)^\\s+`?(\\w+)`?,?$").FindAllStringSubmatch(withoutComments(text), -1) {
		passedOn = append(passedOn, m[1])
	}
	others := map[*parser.Ident]bool{}
	parser.Walk(statements[0], func(node parser.Expr) bool {
		switch n := node.(type) {
		case *parser.FunctionExpr:
			others[n.Name] = true
		case *parser.TableIdentifier:
			others[n.Database], others[n.Table] = true, true
		case *parser.Ident:
			if !others[n] {
				used = append(used, n.Name)
			}
		}
		return true
	})
	return passedOn, used
}

func withoutComments(text string) string {
	return regexp.MustCompile(`(?m)^\s*--.*$`).ReplaceAllString(text, "")
}

func TestCompletenessKnowsWhatStandsBesideARun(t *testing.T) {
	t.Parallel()
	var kinds []string
	for _, table := range schemas.Tables() {
		if table.Beside {
			kinds = append(kinds, "'"+table.Kind()+"'")
		}
	}
	want := "kind NOT IN (" + strings.Join(kinds, ", ") + ")"
	if !slices.ContainsFunc(allObjects(t), func(o sql.Object) bool { return strings.Contains(o.Query, want) }) {
		t.Errorf("no view has %q", want)
	}
}
