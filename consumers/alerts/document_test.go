package alerts

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/sql"
)

var update = flag.Bool("update", false, "write the rules into docs/alerts.md") //nolint:gochecknoglobals // a flag of the test binary

const (
	rulesDocument = "../../docs/alerts.md"
	rulesBegin    = "<!-- rules: go test ./consumers/alerts -update -->\n"
	rulesEnd      = "<!-- end of rules -->\n"
)

func TestTheDocumentSaysWhatTheRulesSay(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(rulesDocument)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), rulesBegin)
	got, after, ends := strings.Cut(rest, rulesEnd)
	if !begins || !ends {
		t.Fatalf("%s has no place for the rules", rulesDocument)
	}
	want := documented(t)
	if *update {
		if err := os.WriteFile(rulesDocument, []byte(before+rulesBegin+want+rulesEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("%s says of the rules\n%s\nwant (go test ./consumers/alerts -update)\n%s", rulesDocument, got, want)
	}
}

func documented(t *testing.T) string {
	t.Helper()
	rules, err := sql.Rules()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i := range rules {
		r := &rules[i]
		value := func(column string) string { return r.Example[column] }
		quoted := func(column string) string { return report.Argument(r.Example[column]) }
		fmt.Fprintf(&b, "### %s\n\n%s\nSeverity %s, for %s, labels %s, grouped by %s. Silent when: %s.\n\n", r.Title(), sentence(r.Question), r.Severity, r.For,
			strings.Join(r.Labels, ", "), strings.Join(r.GroupBy, ", "), r.EmptyWhen)
		fmt.Fprintf(&b, "    %s\n    %s\n", sql.Fill(r.Says, value), sql.Fill(r.Look, quoted))
		writeParameters(&b, r)
		b.WriteString("\n")
	}
	return b.String()
}

func sentence(text string) string { return strings.ToUpper(text[:1]) + text[1:] }

func writeParameters(b *strings.Builder, r *sql.Rule) {
	first := true
	for _, p := range r.Parameters {
		if p.Name == "run" || p.Name == "now_ns" || p.Name == sinceLook || strings.HasPrefix(p.Type, "Array") {
			continue // the role gives it
		}
		if first {
			b.WriteString("\n")
		}
		first = false
		fmt.Fprintf(b, "* `%s`, %s if not given: %s\n", p.Name, p.Default, p.Doc)
	}
}
