package symptoms

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/report"
)

// answers are a door's, by the report.
type answers map[string]report.Table

func (a answers) Report(_ context.Context, name string, parameters map[string]string) (report.Table, error) {
	if parameters["run"] != "bad" {
		return report.Table{}, errors.New("no such run")
	}
	if signs, ok := a[name]; ok || name != "signs" {
		return signs, nil
	}
	return everySign(), nil
}

// everySign has enough of each sign.
func everySign() report.Table {
	numbers := map[string]float64{}
	for _, s := range list() {
		numbers[s.sign] = max(numbers[s.sign], s.least)
	}
	return with(report.Table{Rows: make([][]report.Value, 1)}, numbers)
}

func look(t *testing.T, door Door, run Run) []Found {
	t.Helper()
	found, err := Look(t.Context(), door, run)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func row(pairs ...string) report.Table {
	t := report.Table{Rows: make([][]report.Value, 1)}
	for i := 0; i < len(pairs); i += 2 {
		t.Columns = append(t.Columns, pairs[i])
		t.Rows[0] = append(t.Rows[0], report.Value{Exact: pairs[i+1], Number: math.NaN()})
	}
	return t
}

// with has numbers in the first row.
func with(t report.Table, numbers map[string]float64) report.Table {
	for column, number := range numbers {
		t.Columns = append(t.Columns, column)
		t.Rows[0] = append(t.Rows[0], report.Value{Exact: strconv.FormatFloat(number, 'f', -1, 64), Number: number})
	}
	return t
}

func told(found []Found) (lines []string) {
	for _, f := range found {
		lines = append(append(lines, f.Lines...), f.More)
	}
	return lines
}

func TestNothingIsToldOfARunInWhichAllIsWell(t *testing.T) {
	t.Parallel()
	well := answers{"crash": row("rank", "0", "how", "ended"), "overflow": row("verdict", "known exception")}
	if found := look(t, well, Run{Name: "bad"}); len(found) != 0 {
		t.Errorf("%+v", found)
	}
}

func TestAnOpThatRaisedIsACrashOnlyIfTheProgramFailed(t *testing.T) {
	t.Parallel()
	door := answers{"crash": row("rank", "2", "how", "raised", "step", "3", "op", "f")}
	if found := look(t, door, Run{Name: "bad"}); len(found) != 0 {
		t.Errorf("of a program that went on: %+v", found)
	}
	lines := told(look(t, door, Run{Name: "bad", Failed: true}))
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "crash: run bad: rank 2 was the first to go: it raised in step 3, op f") || lines[1] != "report crash --run bad" {
		t.Errorf("%q", lines)
	}
}

func TestARunThatItsUserStoppedIsNoCrash(t *testing.T) {
	t.Parallel()
	door := answers{"crash": row("rank", "0", "how", "stopped", "step", "3", "op", "f", "type", "KeyboardInterrupt")}
	lines := told(look(t, door, Run{Name: "bad", Failed: true}))
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "stopped: run bad was stopped by its user: rank 0 was in step 3, op f") || lines[1] != "report crash --run bad" {
		t.Errorf("%q", lines)
	}
}

func TestTheFirstLineOfEachReportIsTold(t *testing.T) {
	t.Parallel()
	got := told(look(t, answers{
		"overflow": row("verdict", "origin", "step", "4", "rank", "1", "op", "Torch.log.0", "module", "head", "role", "output", "path", "0"),
		"replicas": row("step", "0", "op", "f", "module", "", "role", "parameter", "path", "weight", "ranks", "[0,1,2]", "odd_ranks", "[2]", "evidence", "digest", "error", "0.5"),
	}, Run{Name: "bad"}))
	want := []string{
		"overflow: run bad: NaN or infinity in step 4, rank 1, op Torch.log.0 of module head, output 0", "overflow bad",
		"replicas: run bad: from step 0 on, ranks [2] differ from others of ranks [0,1,2] in f, parameter weight: relative error 0.5 by digest", "report replicas --run bad",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestRequestsAreToldWhereSomethingIsNotFinite(t *testing.T) {
	t.Parallel()
	requests := row("request", "r3", "how", "suspect", "phase", "prefill", "first_step", "0", "rank", "1", "op", "embed", "module", "")
	requests.Rows = append(requests.Rows, row("request", "r1", "how", "shared", "phase", "", "first_step", "0", "rank", "1", "op", "embed", "module", "").Rows[0])
	door := answers{"poisoned_requests": requests}
	if found := look(t, door, Run{Name: "bad"}); len(found) != 0 {
		t.Errorf("of a run that is finite: %+v", found)
	}
	door["overflow"] = row("verdict", "parameter", "step", "0", "rank", "0", "op", "embed", "module", "", "role", "parameter", "path", "weight")
	got := told(look(t, door, Run{Name: "bad"}))
	want := []string{
		"poisoned-requests: run bad: request r3 (suspect, prefill) was in the first step that was not finite, step 0 of rank 1, op embed",
		"  and r1 (shared)", "report poisoned-requests --run bad",
	}
	if len(got) != 5 || !slices.Equal(got[2:], want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWhereTheFirstOpThatWasNotFiniteIsKeptIsTold(t *testing.T) {
	t.Parallel()
	failures := row("type", "KeyError", "step", "1", "rank", "0", "op", "f", "module", "", "message", "x")
	failures.Rows = append(failures.Rows, row("type", "not finite", "step", "5", "rank", "1", "op", "Torch.log.0.forward", "module", "rare", "message", "NaN in output 0").Rows[0])
	door := counting{answers{"failures": failures}, map[string]int{}}
	got := told(look(t, door, Run{Name: "bad"}))
	want := []string{
		"not finite: run bad: step 5, rank 1, op Torch.log.0.forward of module rare: NaN in output 0", "report failures --run bad",
		"raised: run bad rank 0: step 1, in op f: KeyError: x", "report failures --run bad",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if door.asked["failures"] != 1 {
		t.Errorf("the report of failures is asked %d times, want once", door.asked["failures"])
	}
}

// counting counts how often each report is asked.
type counting struct {
	Door
	asked map[string]int
}

func (c counting) Report(ctx context.Context, name string, parameters map[string]string) (report.Table, error) {
	c.asked[name]++
	return c.Door.Report(ctx, name, parameters)
}

func TestOfEachRankThatRaisedAndWentOnTheLastIsTold(t *testing.T) {
	t.Parallel()
	failure := func(rank float64, step string) report.Table {
		return with(row("type", "KeyError", "step", step, "op", "f", "module", "", "message", "x"), map[string]float64{"rank": rank})
	}
	all := failure(3, "0") // the earliest first
	for _, later := range []report.Table{failure(0, "1"), failure(3, "2"), failure(0, "4")} {
		all.Rows = append(all.Rows, later.Rows[0])
	}
	got := told(look(t, answers{"failures": all}, Run{Name: "bad"}))
	want := []string{"raised: run bad rank 0: step 4, in op f: KeyError: x", "raised: run bad rank 3: step 2, in op f: KeyError: x", "report failures --run bad"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestACollectiveThatNeverEndedIsTold(t *testing.T) {
	t.Parallel()
	stuck := row("process_group", "default_pg [0-1]", "group_seq", "11", "name", "all_reduce", "problem", "not arrived", "missing_ranks", "1", "waiting_ranks", "0", "missing_are", "rank 1: died")
	got := told(look(t, answers{"hang": stuck}, Run{Name: "bad"}))
	want := []string{"hang: rank 1 did not come to all_reduce, call 11 of group default_pg [0-1]; waiting: rank 0; rank 1: died", "report hang --run bad"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestGrowthOfMemoryIsToldWhereThereAreStepsEnough(t *testing.T) {
	t.Parallel()
	leak := func(steps float64) report.Table {
		table := with(row("rank", "1", "device", "cpu", "component", "all", "counter", "host resident", "op", "Module.cache.Cache.forward.0", "first_step", "0", "last_step", "119"),
			map[string]float64{"differs": 1, "growth_bytes_per_step": 1 << 20, "peers_bytes_per_step": 1 << 10, "step_count": steps})
		part := slices.Clone(table.Rows[0])
		part[slices.Index(table.Columns, "component")].Exact = "optimizer"
		table.Rows = append(table.Rows, part)
		return table
	}
	if found := look(t, answers{"memory_growth": leak(49)}, Run{Name: "bad"}); len(found) != 0 {
		t.Errorf("of few steps: %+v", found)
	}
	got := told(look(t, answers{"memory_growth": leak(120)}, Run{Name: "bad"}))
	want := []string{
		"memory: run bad: rank 1: host resident memory of cpu grows by 1.00 MiB a step from step 0 to 119 (its peers: 0.00 MiB), in component optimizer, after Module.cache.Cache.forward.0",
		"report memory-growth --run bad",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAConditionThatNoStepFulfilledIsTold(t *testing.T) {
	t.Parallel()
	if found := look(t, answers{"unseen": row("rank", "0", "reason", "step not wanted", "subject", "request=a")}, Run{Name: "bad"}); len(found) != 0 {
		t.Errorf("of steps that were left out: %+v", found)
	}
	never := with(row("reason", "no step fulfilled the condition", "subject", "nothing is recorded: no step fulfilled request=a; 1 request was seen, nearest b"), map[string]float64{"rank": 1})
	never.Rows = append(never.Rows, slices.Clone(never.Rows[0]), slices.Clone(never.Rows[0]))
	never.Rows[1][2].Number, never.Rows[2][2].Number = 0, 3
	got := told(look(t, answers{"unseen": never}, Run{Name: "bad"}))
	want := []string{"condition: run bad: rank 0-1, 3: nothing is recorded: no step fulfilled request=a; 1 request was seen, nearest b", "report unseen --run bad"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWhatNoHookSawIsToldWithHowMuchOfIt(t *testing.T) {
	t.Parallel()
	unseen := with(row("reason", "compiled", "subject", "model"), map[string]float64{"rank": 0, "step_count": 11, "recorded_step_count": 12})
	unseen.Rows = append(unseen.Rows, slices.Clone(unseen.Rows[0]), slices.Clone(unseen.Rows[0]))
	unseen.Rows[2][0].Exact = "sampled"
	lines := told(look(t, answers{"unseen": unseen}, Run{Name: "bad"}))
	if len(lines) != 3 || !strings.HasPrefix(lines[0], "hidden: run bad: model ran as compiled code in 22 of 24 steps") || !strings.Contains(lines[1], "--eager") || lines[2] != "report unseen --run bad" {
		t.Errorf("%q", lines)
	}
}

// refuses answers the report of signs alone.
type refuses struct{ signs report.Table }

func (r refuses) Report(_ context.Context, name string, _ map[string]string) (report.Table, error) {
	if name == "signs" {
		return r.signs, nil
	}
	return report.Table{}, errors.New("too slow")
}

func TestAReportThatCannotBeAskedIsNamed(t *testing.T) {
	t.Parallel()
	if _, err := Look(t.Context(), answers{}, Run{Name: "other"}); err == nil {
		t.Error("signs of a run that is not known are known")
	}
	lines := told(look(t, refuses{everySign()}, Run{Name: "bad"}))
	if len(lines) != 18 || lines[0] != "crash: not known: too slow" {
		t.Errorf("%q", lines)
	}
}

func TestAReportWithoutASignIsNotAsked(t *testing.T) {
	t.Parallel()
	for _, s := range list() {
		signs := everySign()
		signs.Rows[0][slices.Index(signs.Columns, s.sign)].Number = s.least - 1
		for _, f := range look(t, refuses{signs}, Run{Name: "bad"}) {
			if f.Name == s.name {
				t.Errorf("%s is asked without %s", s.name, s.sign)
			}
		}
	}
	if found := look(t, refuses{report.Table{}}, Run{Name: "bad", Failed: true}); len(found) != 1 || found[0].Name != crashName {
		t.Errorf("of a program that failed: %+v", found)
	}
}

func TestWhetherAProgramThatEndedWellHasCrashed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		row  report.Table
		run  Run
		want string // how the first line begins; empty for none
	}{
		"a rank died":                     {row("rank", "0", "how", "died", "step", "3", "child", "0"), Run{Name: "bad"}, "crash: "},
		"a pool ended its own process":    {row("rank", "1", "how", "died", "step", "3", "child", "1"), Run{Name: "bad"}, ""},
		"and the program failed":          {row("rank", "1", "how", "died", "step", "3", "child", "1"), Run{Name: "bad", Failed: true}, "crash: "},
		"an engine said that it fails":    {row("rank", "0", "how", "raised", "step", "3", "fatal", "1"), Run{Name: "bad"}, "crash: "},
		"its user ended a server":         {row("rank", "0", "how", "stopped", "step", "3", "idle_since_time_ns", "5"), Run{Name: "bad", StoppedNs: 9}, "stopped: "},
		"an interrupt that it caught":     {row("rank", "0", "how", "stopped", "step", "3"), Run{Name: "bad"}, ""},
		"a server was ended, and all did": {row("rank", "0", "how", "ended", "step", "3"), Run{Name: "bad", StoppedNs: 9}, ""},
	} {
		lines := told(look(t, answers{"crash": c.row}, c.run))
		if c.want == "" && len(lines) > 0 || c.want != "" && (len(lines) == 0 || !strings.HasPrefix(lines[0], c.want)) {
			t.Errorf("%s: %q, want %q", name, lines, c.want)
		}
	}
}
