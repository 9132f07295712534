package symptoms

import (
	"context"
	"errors"
	"math"
	"slices"
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
	return a[name], nil
}

func row(pairs ...string) report.Table {
	t := report.Table{Rows: make([][]report.Value, 1)}
	for i := 0; i < len(pairs); i += 2 {
		t.Columns = append(t.Columns, pairs[i])
		t.Rows[0] = append(t.Rows[0], report.Value{Exact: pairs[i+1], Number: math.NaN()})
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
	if found := Look(t.Context(), well, Run{Name: "bad"}); len(found) != 0 {
		t.Errorf("%+v", found)
	}
}

func TestAnOpThatRaisedIsACrashOnlyIfTheProgramFailed(t *testing.T) {
	t.Parallel()
	door := answers{"crash": row("rank", "2", "how", "raised", "step", "3", "op", "f")}
	if found := Look(t.Context(), door, Run{Name: "bad"}); len(found) != 0 {
		t.Errorf("of a program that went on: %+v", found)
	}
	lines := told(Look(t.Context(), door, Run{Name: "bad", Failed: true}))
	if len(lines) != 2 || !strings.HasPrefix(lines[0], "crash: run bad: rank 2 was the first to go: it raised in step 3, op f") || lines[1] != "report crash --run bad" {
		t.Errorf("%q", lines)
	}
}

func TestTheFirstLineOfEachReportIsTold(t *testing.T) {
	t.Parallel()
	got := told(Look(t.Context(), answers{
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
	if found := Look(t.Context(), door, Run{Name: "bad"}); len(found) != 0 {
		t.Errorf("of a run that is finite: %+v", found)
	}
	door["overflow"] = row("verdict", "parameter", "step", "0", "rank", "0", "op", "embed", "module", "", "role", "parameter", "path", "weight")
	got := told(Look(t.Context(), door, Run{Name: "bad"}))
	want := []string{
		"poisoned-requests: run bad: request r3 (suspect, prefill) was in the first step that was not finite, step 0 of rank 1, op embed",
		"  and r1 (shared)", "report poisoned-requests --run bad",
	}
	if len(got) != 5 || !slices.Equal(got[2:], want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAReportThatCannotBeAskedIsNamed(t *testing.T) {
	t.Parallel()
	lines := told(Look(t.Context(), answers{}, Run{Name: "other"}))
	if len(lines) != 8 || lines[0] != "crash: not known: no such run" {
		t.Errorf("%q", lines)
	}
}
