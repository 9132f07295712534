package answers

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/e2e/internal/program"
	"github.com/tensortap/tensortap/internal/dev/recorded"
)

// pairing is the answer of the report of that name: by its rows, and what the columns are.
type pairing struct {
	columns []string
	rows    [][]string
}

func (p pairing) get(row []string, column string) string {
	return row[slices.Index(p.columns, column)]
}

// reportPairing asks how the ops of two runs were paired.
func reportPairing(tb testing.TB, u *program.Up, args ...string) pairing {
	tb.Helper()
	out := program.Run(tb, u.Setting, append([]string{"report", "pairing", "--output", "csv"}, args...)...)
	if out.Status != 0 || out.Stderr != "" {
		tb.Fatalf("report pairing %q: %v", args, out)
	}
	rows := program.ParseCSV(tb, out.Stdout)
	return pairing{rows[0], rows[1:]}
}

func TestReportPairingShowsExtraCallsAloneAndAllOthersPaired(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	u.Publish(t, recorded.Unpack(t, "B05_extra_op_mix"), "pairing-problem")
	u.Publish(t, recorded.Unpack(t, "B00_golden_mix"), "pairing-bench")
	u.Settle(t)
	p := reportPairing(t, u, "--problem", "pairing-problem", "--bench", "pairing-bench")
	reasons := map[string]int{}
	for i, row := range p.rows {
		reason := p.get(row, "reason")
		reasons[reason]++
		if p.get(row, "position") != strconv.Itoa(i) {
			t.Fatalf("row %d stands at position %s", i, p.get(row, "position"))
		}
		problem, bench := p.get(row, "problem_module"), p.get(row, "bench_module")
		switch {
		case reason == "only_problem":
			if problem != "model.layers.1.mlp" || p.get(row, "bench_op") != "" {
				t.Errorf("%q stands alone", row)
			}
		case problem != bench:
			t.Errorf("%q is paired across modules", row)
		case strings.HasSuffix(p.get(row, "problem_op"), ".forward") != strings.HasSuffix(p.get(row, "bench_op"), ".forward"):
			t.Errorf("%q is paired across phases", row)
		}
	}
	if len(p.rows) != 620 || reasons["only_problem"] != 3 || reasons["only_bench"] != 0 || reasons["not_aligned"] != 0 {
		t.Errorf("%d rows with reasons %v, want 620, three of the problem alone", len(p.rows), reasons)
	}
	checkStoredOnce(t, u, p)
}

// checkStoredOnce asks again, which changes nothing, and checks what is stored.
func checkStoredOnce(t *testing.T, u *program.Up, first pairing) {
	t.Helper()
	const stored = `SELECT count(), uniqExact(position), countIf(problem_position IS NOT NULL), countIf(bench_position IS NOT NULL)
FROM tap_store.alignment WHERE (problem_program_id, bench_program_id) IN (
	SELECT problem_program_id, bench_program_id
	FROM tap.program_pairs(problem = 'pairing-problem', bench = 'pairing-bench', rank = -1, first_step = 0, last_step = -1, step_offset = 0))`
	before := u.Query(t, stored)
	again := reportPairing(t, u, "--problem", "pairing-problem", "--bench", "pairing-bench")
	if !slices.EqualFunc(first.rows, again.rows, slices.Equal) {
		t.Error("asked again, the report says something else")
	}
	if want := []string{"620", "620", "620", "617"}; !slices.Equal(before[0], want) {
		t.Errorf("stored are %q rows, positions, ops of the problem and of the bench, want %q", before[0], want)
	}
	u.Settle(t)
	if after := u.Query(t, stored); !slices.Equal(after[0], before[0]) {
		t.Errorf("asked again, %q are stored, had %q", after[0], before[0])
	}
}

func TestReportPairingOfTheSameProgramIsByID(t *testing.T) {
	t.Parallel()
	u := program.Shared(t)
	u.Publish(t, recorded.Unpack(t, "D_tp_golden"), "pairing-same-bench")
	u.Publish(t, recorded.Unpack(t, "D_tp_rank1_weight"), "pairing-same-problem")
	u.Settle(t)
	runs := []string{"--problem", "pairing-same-problem", "--bench", "pairing-same-bench"}
	for _, row := range reportPairing(t, u, runs...).rows {
		if row[len(row)-2] != "id" {
			t.Fatalf("row %q of the same program", row)
		}
	}
	if p := reportPairing(t, u, append(runs, "--unpaired")...); len(p.rows) != 0 {
		t.Errorf("%d ops are said to stand alone", len(p.rows))
	}
	// With an offset no step of the one has a partner.
	if p := reportPairing(t, u, append(runs, "--step-offset", "7")...); len(p.rows) != 0 {
		t.Errorf("%d ops are paired with steps that are not there", len(p.rows))
	}
	if out := program.Run(t, u.Setting, append([]string{"report", "pairing", "--step-offset", "x"}, runs...)...); out.Status != 2 {
		t.Errorf("an offset that is no number: %v", out)
	}
}
