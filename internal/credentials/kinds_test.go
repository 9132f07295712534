package credentials_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/internal/dev/marked"
	"github.com/tensortap/tensortap/schemas"
)

var update = flag.Bool("update", false, "write the table of docs/security.md") //nolint:gochecknoglobals // a flag of the test binary

// TestTheTableOfWhoMayPublishWhatIsTrue asks a real server about each role and each kind of events, and holds docs/security.md against it.
func TestTheTableOfWhoMayPublishWhatIsTrue(t *testing.T) {
	t.Parallel()
	f := startFleet(t)
	may := map[string]map[string]string{} // by kind, by role
	for _, table := range schemas.Tables() {
		may[table.Kind()] = map[string]string{}
	}
	for _, role := range everybody() {
		refused := f.refusedTo(t, role)
		for kind, roles := range may {
			roles[role] = scope(refused, kind)
		}
	}
	const page = "../../docs/security.md"
	want := kindsTable(may)
	if *update {
		must(t, marked.Write(page, "kinds", want))
	}
	text, err := os.ReadFile(page)
	must(t, err)
	if got, err := marked.Part(string(text), "kinds"); err != nil || got != want {
		t.Errorf("the table of %s is not what the server allows, %v: go test ./internal/credentials -run %s -update\n%s", page, err, t.Name(), want)
	}
}

// Subjects of a kind: of the producer's own run, of another run, and of none.
func subjectsOf(kind string) (own, other, none string) {
	rank := uint32(0)
	if kind == schemas.Audit().Kind() {
		rank = schemas.NoRank
	}
	return schemas.Subject(kind, schemas.RunID(ownRun), 0), schemas.Subject(kind, schemas.RunID("other"), 0), schemas.Subject(kind, 0, rank)
}

// refusedTo is the subjects of all kinds that the server refuses the role.
func (f *fleet) refusedTo(tb testing.TB, role string) string {
	tb.Helper()
	p := f.as(tb, role)
	for _, table := range schemas.Tables() {
		own, other, none := subjectsOf(table.Kind())
		for _, subject := range []string{own, other, none} {
			must(tb, p.Publish(subject, nil))
		}
	}
	const last = "nobody.may"
	must(tb, p.Publish(last, nil))
	said := func() string {
		p.mutex.Lock()
		defer p.mutex.Unlock()
		return strings.Join(p.refused, "\n")
	}
	eventually(tb, "the server answers all", func() bool { return strings.Contains(said(), last) })
	return said()
}

func scope(refused, kind string) string {
	allowed := func(subject string) bool { return !strings.Contains(refused, `"`+subject+`"`) }
	own, other, none := subjectsOf(kind)
	switch {
	case allowed(own) && allowed(other):
		return "any run"
	case allowed(own):
		return "its run"
	case allowed(none):
		return "no run's"
	default:
		return ""
	}
}

// kindsTable has a line for kinds that the same roles may publish.
func kindsTable(may map[string]map[string]string) string {
	kinds, lines := map[string][]string{}, []string{}
	for _, table := range schemas.Tables() {
		line := ""
		for _, role := range everybody() {
			line += " " + may[table.Kind()][role] + " |"
		}
		if kinds[line] == nil {
			lines = append(lines, line)
		}
		kinds[line] = append(kinds[line], "`"+table.Kind()+"`")
	}
	text := "| events | " + strings.Join(everybody(), " | ") + " |\n|---" + strings.Repeat("|---", len(everybody())) + "|\n"
	for _, line := range lines {
		text += fmt.Sprintf("| %s |%s\n", strings.Join(kinds[line], ", "), line)
	}
	return text
}
