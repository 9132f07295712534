package answers

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// What the tensors of a run say, put in other words than those of the views: one row per key and step.
const direct = `SELECT %[1]s, step, count(),
    countIf(arrayExists(v -> NOT isFinite(assumeNotNull(v)) AND v IS NOT NULL, [value_min, value_max, value_mean, value_l2])
        OR ifNull(nan_count, 0) + ifNull(positive_infinity_count, 0) + ifNull(negative_infinity_count, 0) > 0),
    sum(element_count),
    arrayReduce('min', arrayFilter(v -> NOT isNaN(v), groupArray(value_min))), count(value_min),
    arrayReduce('max', arrayFilter(v -> NOT isNaN(v), groupArray(value_max))), count(value_max),
    arraySum(arrayFilter(v -> isFinite(v), groupArray(pow(value_l2, 2)))), count(value_l2),
    arraySum(arrayFilter(v -> isFinite(v), groupArray(value_mean * element_count))), count(value_mean)
FROM tap.tensors WHERE run = '%[2]s' GROUP BY %[1]s, step ORDER BY %[1]s, step`

// The same of the aggregates; where nothing finite was measured they say nan, or null where nothing was.
const aggregated = `SELECT %[1]s, step, sum(row_count), sum(not_finite_row_count), sum(element_count),
    minIf(value_min, NOT isNaN(value_min)), count(value_min),
    maxIf(value_max, NOT isNaN(value_max)), count(value_max),
    sumIf(square_sum, NOT isNaN(square_sum)), count(square_sum),
    sumIf(value_sum, NOT isNaN(value_sum)), count(value_sum)
FROM %[2]s GROUP BY %[1]s, step ORDER BY %[1]s, step`

func inWords(text string, with ...string) string {
	for i, w := range with {
		text = strings.ReplaceAll(text, "%["+strconv.Itoa(i+1)+"]s", w)
	}
	return text
}

// requireTrend checks every aggregate of a run against its tensors.
func requireTrend(tb testing.TB, u *program.Up, run string) {
	tb.Helper()
	for key, view := range map[string]string{
		"site_id": "tap.step_aggregates(run = '" + run + "', first_step = 0, last_step = -1)",
		"rank":    "tap.rank_aggregates(run = '" + run + "', role = 'all', phase = 'all', first_step = 0, last_step = -1)",
	} {
		want := u.Query(tb, inWords(direct, key, run))
		got := u.Query(tb, inWords(aggregated, key, view))
		if len(got) == 0 || len(got) != len(want) {
			tb.Fatalf("run %s has %d aggregates by %s, want %d", run, len(got), key, len(want))
		}
		for i := range want {
			if !slices.EqualFunc(got[i], want[i], sameFigure) {
				tb.Errorf("run %s by %s: got %q, want %q", run, key, got[i], want[i])
			}
		}
	}
}

// sameFigure allows for another order of addition, and takes how many were measured for whether any was.
func sameFigure(got, want string) bool {
	if got == want {
		return true
	}
	a, errA := strconv.ParseFloat(got, 64)
	b, errB := strconv.ParseFloat(want, 64)
	if errA != nil || errB != nil {
		return (got == "") && (want == "" || want == "0" || want == "nan")
	}
	counted := a == 1 && b >= 1 && b == math.Trunc(b) // one aggregate stands for several tensors
	return counted || math.Abs(a-b) <= 1e-9*math.Max(math.Abs(a), math.Abs(b))
}

// rebuild has the copy brought up to date, and says how many steps were removed.
func rebuild(tb testing.TB, u *program.Up) int {
	tb.Helper()
	client := u.Client(tb)
	defer client.Close()
	removed, err := client.RebuildTrend(tb.Context())
	if err != nil {
		tb.Fatal(err)
	}
	return removed
}

const trendStates = "SELECT state, count() FROM tap.trend_steps GROUP BY state ORDER BY state"

func requireStates(tb testing.TB, u *program.Up, want ...[]string) {
	tb.Helper()
	if got := u.Query(tb, trendStates); !slices.EqualFunc(got, want, slices.Equal) {
		tb.Errorf("steps by state are %q, want %q", got, want)
	}
}

func TestTrendsAreWhatTheTensorsSayWhateverBecomesOfTheCopy(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	u := program.StartUp(t, data)
	ddp := recorded.Unpack(t, "D_ddp_golden")
	u.Publish(t, ddp, "ddp")
	u.Publish(t, recorded.Unpack(t, "D_tp_rank1_nan"), "tp")
	u.Publish(t, recorded.Unpack(t, "A_llama_mix_md5"), "one rank, not measured")
	u.Settle(t)
	rebuild(t, u)
	kept, alone := len(u.Query(t, "SELECT DISTINCT run, step FROM tap.tensors WHERE run IN ('ddp', 'tp')")), len(u.Query(t, "SELECT DISTINCT step FROM tap.tensors WHERE run NOT IN ('ddp', 'tp')"))
	requireStates(t, u, []string{"kept", strconv.Itoa(kept)}, []string{"missing", strconv.Itoa(alone)})
	requireTrends := func() {
		for _, run := range []string{"ddp", "tp", "one rank, not measured"} {
			requireTrend(t, u, run)
		}
	}
	requireTrends()

	damages := []struct{ name, statement string }{
		{"rows lost", "ALTER TABLE tap_store.trend DELETE WHERE step = 0 AND site_id % 2 = 0 SETTINGS mutations_sync = 1"},
		{"rows twice", "INSERT INTO tap_store.trend SELECT * FROM tap_store.trend WHERE site_id % 2 = 0"},
		{"content of before", "ALTER TABLE tap_store.trend UPDATE content = content + 1 WHERE 1 SETTINGS mutations_sync = 1"},
		{"more steps than a statement can name", "INSERT INTO tap_store.trend (run_id, site_id, step, content) SELECT xxh3(concat('tp', char(31))), 1, 1000 + number, 1 FROM numbers(12000)"},
	}
	for _, damage := range damages {
		program.Execute(t, u, damage.statement)
		listed := program.Run(t, u.Setting, "report", "trend_check", "--output", "csv")
		if n := strings.Count(listed.Stdout, "\n") - 1; listed.Status != 0 || n < 2 {
			t.Errorf("%s: trend_check lists %d steps: %v", damage.name, n, listed)
		}
		requireTrend(t, u, "tp")
		if n := rebuild(t, u); n < 2 {
			t.Errorf("%s: %d steps were removed, want at least 2", damage.name, n)
		}
		requireStates(t, u, []string{"kept", strconv.Itoa(kept)}, []string{"missing", strconv.Itoa(alone)})
	}
	requireTrends()

	u.Publish(t, program.Altered(t, ddp, "step0/rank1"), "ddp", "--replace")
	u.Settle(t)
	requireTrend(t, u, "ddp")
	if n := rebuild(t, u); n != 1 {
		t.Errorf("after a replaced step %d were removed, want 1", n)
	}
	requireStates(t, u, []string{"kept", strconv.Itoa(kept)}, []string{"missing", strconv.Itoa(alone)})
	requireTrend(t, u, "ddp")

	program.Execute(t, u, "TRUNCATE TABLE tap_store.trend")
	requireTrend(t, u, "tp")
	rebuild(t, u)
	requireStates(t, u, []string{"kept", strconv.Itoa(kept)}, []string{"missing", strconv.Itoa(alone)})

	program.Execute(t, u, "INSERT INTO tap_store.trend SELECT * FROM tap_store.trend WHERE site_id % 3 = 0")
	if err := u.Kill(); err != nil {
		t.Fatal(err)
	}
	u = program.StartUp(t, data)
	for deadline := time.Now().Add(30 * time.Second); len(u.Query(t, "SELECT 1 FROM tap.trend_steps WHERE state = 'wrong'")) > 0 && time.Now().Before(deadline); {
		time.Sleep(100 * time.Millisecond)
	}
	if len(u.Query(t, "SELECT 1 FROM tap.trend_steps WHERE state = 'wrong'")) > 0 {
		t.Errorf("a start left steps wrong: %s", u.Stderr)
	}
	requireTrends()
}

func TestTrendNamesWhatItKnowsWhenAskedForSomethingElse(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	const run = "trend of nothing known"
	u.Publish(t, recorded.Unpack(t, "D_ddp_golden"), run)
	u.Settle(t)
	for flag, want := range map[string]string{"statistic": "not_finite_count", "by": "module", "role": "parameter_gradient", "phase": "recompute"} {
		out := program.Run(t, u.Setting, "report", "trend", "--run", run, "--"+flag, "nonsense")
		if out.Status != program.ExitError || !strings.Contains(out.Stderr, want) {
			t.Errorf("report trend --%s nonsense: %v, want an error that names %s", flag, out, want)
		}
	}
}
