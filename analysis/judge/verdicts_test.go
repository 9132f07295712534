package judge

import (
	"math"
	"strconv"
	"testing"
)

const (
	verdictCases   = "testdata/verdicts"
	caseWithOffset = "other_steps" // steps pair by number here; package pair handles offsets
)

func TestVerdictsAreThoseOfTheirCases(t *testing.T) {
	t.Parallel()
	for _, name := range cases(t, verdictCases) {
		if name == caseWithOffset {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := readScenario(t, verdictCases, name)
			d := s.definitions(t)
			problem, bench := s.side(t, "problem", d), s.side(t, "bench", d)
			rules, err := New(s.config(t, d, bench), problem.run, bench.run, d)
			if err != nil {
				t.Fatal(err)
			}
			all, settings := pairs(problem, bench)
			if len(all) != len(s.tables["want"]) {
				t.Errorf("%d pairs, want %d", len(all), len(s.tables["want"]))
			}
			for i := range all {
				got := rules.Judge(&all[i], settings[i], s.payload(&all[i]))
				want := wanted(t, s.tables["want"], &all[i])
				checkVerdict(t, got, want)
			}
		})
	}
}

func wanted(t *testing.T, want table, p *Pair) map[string]string {
	t.Helper()
	for _, row := range want {
		if whole[uint32](row, "rank") == p.Rank && whole[uint32](row, "step") == p.Step && whole[uint64](row, "site_id") == p.Own().SiteID &&
			(row["problem_present"] == "true") == p.InProblem {
			return row
		}
	}
	t.Fatalf("no row is wanted of site %d", p.Own().SiteID)
	return nil
}

func checkVerdict(t *testing.T, got Verdict, want map[string]string) {
	t.Helper()
	texts := map[string]string{
		"verdict": got.Class.String(), "numeric": got.Numeric.String(), "evidence": got.Evidence.String(), "side": got.Side.String(), "reason": got.Reason,
		"structure": strconv.FormatBool(got.Structure), "differs": map[bool]string{false: "0", true: "1"}[got.Differs],
	}
	for column, value := range texts {
		if value != want[column] {
			t.Errorf("site %s, seq %s: %s is %q, want %q", want["site_id"], want["seq"], column, value, want[column])
		}
	}
	numbers := map[string]float64{
		"error": got.Error, "error_low": got.ErrorLow, "error_high": got.ErrorHigh, "tolerance": got.Tolerance, "z_score": got.ZScore,
	}
	for column, value := range numbers {
		if !sameNumber(value, real(want, column)) {
			t.Errorf("site %s, seq %s: %s is %v, want %s", want["site_id"], want["seq"], column, value, want[column])
		}
	}
}

// sameNumber allows for another order of the same sum.
func sameNumber(a, b float64) bool {
	return a == b || (math.IsNaN(a) && math.IsNaN(b)) || math.Abs(a-b) <= 1e-13*math.Abs(b)
}
