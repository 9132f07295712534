package delivery

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/ask"
	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/objectstore"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/sql"
)

// TestEveryReportIsTheSameOnceTheArchiveAloneMadeTheStoresAgain asks every report of `tensortap report`, takes stream and
// tables away, restores them, and asks again.
func TestEveryReportIsTheSameOnceTheArchiveAloneMadeTheStoresAgain(t *testing.T) {
	t.Parallel()
	data, server := t.TempDir(), objectstore.Start(t, nil)
	u := copyingUp(t, data, server, "s3://archive/fleet")
	fleet := storeFleet(t, u)
	says(t, u, 0, nil, "runs", "pin", badRun)
	u.Settle(t)
	before := askAll(t, u, fleet)
	requireAnswers(t, before)
	u.Settle(t) // who asks declares a comparison once more
	rows := sums(t, u)
	runs := listRuns(t, u)
	awaitCopied(t, u)
	mustStop(t, u)

	for _, lost := range []string{"nats", "clickhouse"} {
		if err := os.RemoveAll(filepath.Join(data, lost)); err != nil {
			t.Fatal(err)
		}
	}
	t.Log(says(t, u, 0, []string{"restored "}, "restore"))
	u = program.StartUp(t, data, "--archive-age", "100ms")
	requireSums(t, u, rows)
	after := askAll(t, u, fleet)
	for _, question := range slices.Sorted(maps.Keys(before)) {
		if after := unrestored(after[question]); after != before[question] {
			t.Errorf("%s\nbefore\n%s\nafter\n%s", question, before[question], after)
		}
	}
	requireDeeds(t, u, "restore "+u.Endpoint.Archive+" done")
	requireSame(t, listRuns(t, u), runs, inherent())
	if !server.Real { // which asks for time
		return
	}
	mustStop(t, u)
	u.Env = objectstore.Environment()
	says(t, u, 0, []string{"restored 0 messages", "they had "}, "restore", "--from", "s3://archive/fleet", "--archive-endpoint", server.Endpoint)
}

// unrestored is an answer without the line of audit of the restore itself.
func unrestored(answer string) string {
	return regexp.MustCompile(`(?m)^[^\n]*,restore,[^\n]*\n`).ReplaceAllString(answer, "")
}

// inherent are the columns of `report runs` that the archive cannot give: docs/retention.md says why.
func inherent() []string { return []string{"bytes", "pinned"} }

// question is a report and its parameters.
type question struct {
	report sql.Report
	given  map[string]string
}

func (q question) String() string {
	words := []string{"report " + q.report.Name}
	for _, name := range slices.Sorted(maps.Keys(q.given)) {
		words = append(words, name+"="+q.given[name])
	}
	return strings.Join(words, " ")
}

// questions are all reports, of each run and pair of runs that they are about.
func (f *fleet) questions(t *testing.T) []question {
	t.Helper()
	reports, err := sql.Reports()
	if err != nil {
		t.Fatal(err)
	}
	var all []question
	for _, r := range reports {
		for _, given := range f.given(r) {
			all = append(all, question{r, given})
		}
	}
	return all
}

// given are the parameters that a report must be given, once for each run or pair of runs that it is asked about.
func (f *fleet) given(r sql.Report) []map[string]string {
	usual := map[string]string{"op": f.op, "name": f.op, "id": f.request}
	given := map[string]string{}
	for _, p := range r.Parameters {
		if value, known := usual[p.Name]; known && p.Required {
			given[p.Name] = value
		}
	}
	takes := func(name string) bool {
		return slices.ContainsFunc(r.Parameters, func(p sql.Parameter) bool { return p.Name == name && p.Required })
	}
	for _, p := range r.Parameters {
		if value, known := map[string]string{"now_ns": f.now, "all": "1"}[p.Name]; known {
			given[p.Name] = value
		}
	}
	if r.Name == "absent_step" {
		given["step"] = "1000" // which no run has
	}
	with := func(more ...string) map[string]string {
		all := maps.Clone(given)
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	switch {
	case takes("problem"):
		pair := cmp.Or(pairsOf()[r.Name], [2]string{badRun, goodRun})
		return []map[string]string{with("problem", pair[0], "bench", pair[1])}
	case takes("run"):
		return []map[string]string{with("run", cmp.Or(runsOf()[r.Name], followedRun))}
	}
	return []map[string]string{given}
}

// askAll are the answers to all questions, as CSV.
func askAll(t *testing.T, u *program.Up, f *fleet) map[string]string {
	t.Helper()
	client := u.Client(t)
	defer client.Close()
	answers := map[string]string{}
	for _, q := range f.questions(t) {
		answers[q.String()] = q.answer(t, client)
	}
	answers["report msprobe"] = written(t, func(to *bytes.Buffer) error {
		r := system.DefaultMsprobeRequest()
		r.Problem, r.Bench = badRun, goodRun
		return client.MsprobeReport(t.Context(), r, to, report.Style{Format: report.CSV})
	})
	answers["report op-msprobe"] = written(t, func(to *bytes.Buffer) error {
		r := system.DefaultMsprobeRequest()
		r.Problem, r.Bench, r.Op, r.Rank = badRun, goodRun, f.op, 0
		return client.MsprobeReport(t.Context(), r, to, report.Style{Format: report.CSV})
	})
	answers["report pairing"] = written(t, func(to *bytes.Buffer) error {
		paired, err := client.Pairing(t.Context(), compared(nanRun, goodRun))
		if err != nil {
			return err
		}
		return report.WriteRecord(to, report.Style{Format: report.CSV}, compare.PairingTable(paired))
	})
	return answers
}

func written(t *testing.T, write func(to *bytes.Buffer) error) string {
	t.Helper()
	var answer bytes.Buffer
	if err := write(&answer); err != nil {
		t.Fatal(err)
	}
	return answer.String()
}

func compared(problem, bench string) system.CompareRequest {
	r := system.DefaultCompareRequest()
	r.Problem, r.Benches = problem, []string{bench}
	return r
}

// answer asks as the command does.
func (q question) answer(t *testing.T, client *system.Client) string {
	t.Helper()
	_, values, err := ask.Prepare(q.report.Name, q.given)
	if err == nil && q.report.Judged() {
		values["comparison"], err = client.Judged(t.Context(), compared(q.given["problem"], q.given["bench"]))
	}
	if _, takes := values["unstored"]; takes && err == nil {
		values["unstored"], err = client.Unstored(t.Context(), q.given["run"])
	}
	if err != nil {
		t.Fatalf("%v: %v", q, err)
	}
	return written(t, func(to *bytes.Buffer) error {
		return client.Write(t.Context(), to, report.Style{Format: report.CSV}, q.report.Query, values)
	})
}

// requireAnswers checks that equal answers prove something: each report has rows, but for those that tell of faults of ours.
func requireAnswers(t *testing.T, answers map[string]string) {
	t.Helper()
	rows := map[string]int{}
	for question, answer := range answers {
		name := strings.Fields(question)[1]
		rows[name] += len(program.ParseCSV(t, answer)) - 1
	}
	for name, count := range rows {
		if count == 0 && !slices.Contains(silent(), name) {
			t.Errorf("report %s has nothing to tell, so that nothing of it is tried", name)
		}
	}
	t.Logf("%d questions, rows by report: %v", len(answers), rows)
}

// silent are the reports that have nothing to tell of this fleet: it tells of no tokens, keeps no raw tensors, and has no NaN in the
// first step.
func silent() []string {
	return []string{"trend_check", "logprobs", "tokens", "token_positions", "overflow_levels", "raw_tensors"}
}

// listRuns asks as a person does, with what tables cannot know alone.
func listRuns(t *testing.T, u *program.Up) [][]string {
	t.Helper()
	return program.ParseCSV(t, says(t, u, 0, []string{badRun}, "report", "runs", "--output", "csv"))
}

// requireSame compares tables but for some columns, which differ.
func requireSame(t *testing.T, got, want [][]string, but []string) {
	t.Helper()
	if fmt.Sprint(withoutColumns(got, but)) != fmt.Sprint(withoutColumns(want, but)) {
		t.Errorf("report runs\nbefore\n%s\nafter\n%s", asCSV(want), asCSV(got))
	}
	for _, name := range but {
		if fmt.Sprint(column(got, name)) == fmt.Sprint(column(want, name)) {
			t.Errorf("column %s is the same after a restore, so that it need not be excused", name)
		}
	}
}

func column(table [][]string, name string) []string {
	at := slices.Index(table[0], name)
	var values []string
	for _, row := range table {
		values = append(values, row[at])
	}
	return values
}

func withoutColumns(table [][]string, columns []string) [][]string {
	var rest [][]string
	for _, row := range table {
		var kept []string
		for i, value := range row {
			if !slices.Contains(columns, table[0][i]) {
				kept = append(kept, value)
			}
		}
		rest = append(rest, kept)
	}
	return rest
}

func asCSV(table [][]string) string {
	var text strings.Builder
	_ = csv.NewWriter(&text).WriteAll(table) // a builder takes all
	return text.String()
}
