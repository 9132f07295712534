package answers

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/system"
	"github.com/tensortap/tensortap/schemas"
)

// storeComparison stores a comparison with findings of those ops, all alike but for the error, and returns its id.
func storeComparison(t *testing.T, u *program.Up, problem string, timeNs int64, errors map[string]float64, ops ...string) string {
	t.Helper()
	client := u.Client(t)
	defer client.Close()
	var findings []schemas.FindingRow
	for _, op := range ops {
		e := errors[op]
		findings = append(findings, schemas.FindingRow{Op: op, Module: "layers.0", Role: "output", Path: "0", Verdict: "diverged", Evidence: "statistics", Error: &e})
	}
	id, err := client.StoreComparison(t.Context(), schemas.ComparisonRow{
		CreatedTimeNs: timeNs, Problem: problem, Benches: []string{strings.TrimRight(problem, "0123456789") + "-bench"}, Rules: 1, Verdict: "differs", Complete: 1,
	}, findings)
	if err != nil {
		t.Fatal(err)
	}
	return schemas.FormatID(id)
}

func TestChangesSayWhatIsNewSinceTheLastBuild(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	before := storeComparison(t, u, "comparisons-build1", 1000, map[string]float64{"a": 0.5, "b": math.Inf(1)}, "a", "b")
	now := storeComparison(t, u, "comparisons-build2", 2000, map[string]float64{"b": 0.25, "evil\n\x1b[31m": math.NaN()}, "b", "evil\n\x1b[31m")
	if before == now {
		t.Fatalf("two comparisons have the id %s", now)
	}
	out := program.Run(t, u.Setting, "report", "changes", "--comparison", now, "--output", "csv")
	rows := program.ParseCSV(t, out.Stdout)
	if out.Status != 0 || len(rows) != 4 {
		t.Fatalf("report changes: %v", out)
	}
	for i, want := range []string{"new 0 0 evil\n\x1b[31m", "better 0 0 b", "gone 0 0 a"} {
		if got := strings.Join(rows[i+1][:4], " "); got != want {
			t.Errorf("change %d = %q, want %q", i, got, want)
		}
	}
	text := program.Run(t, u.Setting, "report", "findings", "--comparison", now)
	if text.Status != 0 || strings.Contains(text.Stdout, "\x1b") || !strings.Contains(text.Stdout, "comparisons-build2") {
		t.Errorf("report findings: %v", text)
	}
}

func TestAComparisonStoredTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	first := storeComparison(t, u, "comparisons-twice", 1000, nil, "a", "b")
	second := storeComparison(t, u, "comparisons-twice", 1000, nil, "a", "b")
	other := storeComparison(t, u, "comparisons-twice", 1000, nil, "b", "a")
	if first != second || first == other {
		t.Errorf("ids %s, %s and %s of another order: want the same twice, then another", first, second, other)
	}
	u.Settle(t)
	rows := u.Query(t, "SELECT count(), (SELECT count() FROM tap.findings WHERE comparison_id IN (SELECT comparison_id FROM tap.comparisons WHERE problem = 'comparisons-twice')) FROM tap.comparisons WHERE problem = 'comparisons-twice'")
	if len(rows) != 1 || rows[0][0] != "2" || rows[0][1] != "4" {
		t.Errorf("stored comparisons and findings: %v, want 2 and 4", rows)
	}
}

func TestAComparisonKeepsItsFirstFindings(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	ops := make([]string, system.MostFindings+1)
	for i := range ops {
		ops[i] = strings.Repeat("x", i%1000)
	}
	id := storeComparison(t, u, "comparisons-many", 1000, nil, ops...)
	u.Settle(t)
	rows := u.Query(t, "SELECT count(), max(position) FROM tap.findings WHERE lower(hex(comparison_id)) = '"+strings.TrimLeft(id, "0")+"' OR leftPad(lower(hex(comparison_id)), 16, '0') = '"+id+"'")
	if rows[0][0] != "10000" || rows[0][1] != "9999" {
		t.Errorf("stored findings: %v, want %d", rows, system.MostFindings)
	}
}

func TestTheLastAnswerIsTheLatestWhateverTheClockSays(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	const problem = "comparisons-clock"
	for i, asked := range []struct {
		op     string
		timeNs int64
	}{{"a", 2000}, {"b", 2000}, {"a", 2000}, {"b", 1000}, {"a", 2000}, {"a", 3000}} {
		id := storeComparison(t, u, problem, asked.timeNs, nil, asked.op)
		u.Settle(t)
		rows := u.Query(t, "SELECT leftPad(lower(hex(argMax(comparison_id, created_time_ns))), 16, '0'), uniqExact(comparison_id) FROM tap.comparisons WHERE problem = '"+problem+"'")
		if rows[0][0] != id || rows[0][1] != strconv.Itoa(min(i+1, 2)) {
			t.Errorf("answer %d: the latest of %s is %s, want %s", i, rows[0][1], rows[0][0], id)
		}
	}
}
