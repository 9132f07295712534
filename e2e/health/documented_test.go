package health

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of metrics in docs/health.md") //nolint:gochecknoglobals // a flag of the tests

// Marks of the table in the document.
const (
	tableBegins = "<!-- The table is written by: go test ./e2e/health -update -->\n"
	tableEnds   = "<!-- end of the table -->\n"
)

// metricsAreDocumented holds the table of docs/health.md against what a whole system tells.
func metricsAreDocumented(t *testing.T, root string) {
	t.Helper()
	path := filepath.Join("..", "..", "docs", "health.md")
	document, err := os.ReadFile(path) //nolint:gosec // ours
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(document), tableBegins)
	have, after, ends := strings.Cut(rest, tableEnds)
	if !begins || !ends {
		t.Fatalf("%s lacks the marks of its table", path)
	}
	var want string
	err = await("the table of "+path, func() bool { // a server that is slow to answer tells less
		status, text := page(t, root+"/metrics")
		want = tableOf(text)
		return status == http.StatusOK && (have == want || *update)
	})
	if err != nil {
		t.Fatalf("%v: a system tells other metrics: go test ./e2e/health -update\n%s", err, want)
	}
	if have == want {
		return
	}
	if err := os.WriteFile(path, []byte(before+tableBegins+want+tableEnds+after), 0o600); err != nil {
		t.Fatal(err)
	}
}

// tableOf is a table of our own metrics in a page.
func tableOf(text string) string {
	series := regexp.MustCompile(`(?m)^(tensortap_[a-z_]+?)(?:_bucket|_sum|_count)?\{(.*)\} `)
	labels := map[string]string{}
	for _, found := range series.FindAllStringSubmatch(text, -1) {
		names := regexp.MustCompile(`([a-z]+)="`).FindAllStringSubmatch(found[2], -1)
		var list []string
		for _, name := range names {
			if name[1] != "le" {
				list = append(list, "`"+name[1]+"`")
			}
		}
		labels[found[1]] = strings.Join(list, ", ")
	}
	var table strings.Builder
	table.WriteString("| metric | type | labels | meaning |\n|---|---|---|---|\n")
	head := regexp.MustCompile(`# HELP (tensortap_\S+) (.*)\n# TYPE \S+ (\S+)\n`)
	for _, found := range head.FindAllStringSubmatch(text, -1) {
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", found[1], found[3], labels[found[1]], found[2])
	}
	return table.String()
}
