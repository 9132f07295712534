package pair_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/tensortap/tensortap/analysis/internal/cases"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// eachCase runs a test on each case of a view, and holds the rows that it makes against those wanted.
func eachCase(t *testing.T, view string, answer func(*testing.T, *cases.Case, *cases.Runs) [][]string) {
	t.Helper()
	check(t, view, cases.All(t, view), answer)
}

func check(t *testing.T, what string, list []*cases.Case, answer func(*testing.T, *cases.Case, *cases.Runs) [][]string) {
	t.Helper()
	for _, c := range list {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			got := cases.Table{Columns: c.Want.Columns, Rows: answer(t, c, cases.RunsOf(t, c))}
			slices.SortFunc(got.Rows, numerically)
			slices.SortFunc(c.Want.Rows, numerically)
			if got.Text() != c.Want.Text() {
				t.Errorf("%s, case %s: got\n%swant\n%s", what, c.Name, got.Text(), c.Want.Text())
			}
		})
	}
}

// numerically orders rows by their numbers.
func numerically(a, b []string) int {
	for i := range a {
		x, _ := strconv.ParseFloat(a[i], 64)
		y, _ := strconv.ParseFloat(b[i], 64)
		if order := cmp.Or(cmp.Compare(x, y), cmp.Compare(a[i], b[i])); order != 0 {
			return order
		}
	}
	return 0
}

// words are values as the database writes them.
func words(values ...any) []string {
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = fmt.Sprint(v)
		if number, ok := v.(float64); ok {
			list[i] = number64(number)
		}
	}
	return list
}

func number64(v float64) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

func TestPairRanksAnswersTheCasesOfItsView(t *testing.T) {
	t.Parallel()
	eachCase(t, "rank_pairs", func(_ *testing.T, _ *cases.Case, r *cases.Runs) (list [][]string) {
		for _, p := range pair.PairRanks(r.Problem, r.Bench) {
			list = append(list, words(p.Problem, p.Bench, p.Reason))
		}
		return list
	})
}

// stepsOf are the steps of a case that its parameters ask for.
func stepsOf(t *testing.T, c *cases.Case, r *cases.Runs) []pair.Step {
	t.Helper()
	steps := pair.PairSteps(r.Problem, r.Bench, pair.PairRanks(r.Problem, r.Bench), c.Integer(t, "step_offset", 0))
	rank, first, last := c.Integer(t, "rank", -1), c.Integer(t, "first_step", 0), c.Integer(t, "last_step", -1)
	return slices.DeleteFunc(steps, func(s pair.Step) bool {
		return rank >= 0 && int64(s.Rank) != rank || int64(s.Step) < first || last >= 0 && int64(s.Step) > last
	})
}

func TestPairStepsAnswersTheCasesOfTrainedMoves(t *testing.T) {
	t.Parallel()
	eachCase(t, "trained_moves", func(t *testing.T, c *cases.Case, r *cases.Runs) [][]string {
		t.Helper()
		var list [][]string
		moved := false
		for _, s := range stepsOf(t, c, r) {
			bench := r.Bench.StepAt(rows.Place{Rank: s.BenchRank, Step: s.BenchStep})
			moved = moved || s.InProblem != s.InBench && (!s.InBench || s.Step > math.MaxUint32/2)
			if s.InProblem && s.InBench && bench != nil && bench.GlobalStep != nil {
				list = append(list, words(s.Rank, s.Step, s.BenchStep))
				moved = moved || s.Step != s.BenchStep
			}
		}
		if !moved {
			return nil
		}
		return list
	})
}

func TestPairStepsAnswersTheCasesOfServedMoves(t *testing.T) {
	t.Parallel()
	eachCase(t, "served_moves", func(t *testing.T, c *cases.Case, r *cases.Runs) [][]string {
		t.Helper()
		var list [][]string
		moved := false
		for _, s := range stepsOf(t, c, r) {
			if s.InProblem && s.InBench && len(r.Problem.Requests) > 0 {
				list = append(list, words(s.Rank, s.Step, s.BenchStep))
				moved = moved || s.Step != s.BenchStep
			}
		}
		if !moved {
			return nil
		}
		return list
	})
}

func TestPairStepsAnswersTheCasesOfProgramPairs(t *testing.T) {
	t.Parallel()
	eachCase(t, "program_pairs", func(t *testing.T, c *cases.Case, r *cases.Runs) (list [][]string) {
		t.Helper()
		for _, s := range stepsOf(t, c, r) {
			if s.ProblemProgram != 0 && s.BenchProgram != 0 {
				list = append(list, words(s.Rank, s.BenchRank, s.Step, s.BenchStep, s.ProblemProgram, s.BenchProgram))
			}
		}
		return list
	})
}

func TestPlansAnswerTheirCases(t *testing.T) {
	t.Parallel()
	check(t, "pairs", cases.In(t, "testdata/pairs"), func(t *testing.T, c *cases.Case, r *cases.Runs) (list [][]string) {
		t.Helper()
		for _, s := range stepsOf(t, c, r) {
			var p, b *rows.Tensors
			if s.InProblem {
				p = r.Tensors(r.Problem, s.Rank, s.Step)
			}
			if s.InBench {
				b = r.Tensors(r.Bench, s.BenchRank, s.BenchStep)
			}
			for _, m := range pair.Build(p, b, nil).Matches(p, b) {
				list = append(list, rowOfPairs(s, m, p, b))
			}
		}
		return list
	})
}

// rowOfPairs is a row of a case of pairs.
func rowOfPairs(s pair.Step, m pair.Match, problem, bench *rows.Tensors) []string {
	var p, b, own rows.Observation
	benchRank := uint32(0)
	if m.Bench >= 0 {
		b, benchRank = bench.At(int(m.Bench)), s.BenchRank
		own = b
	}
	if m.Problem >= 0 {
		p = problem.At(int(m.Problem))
		own = p
	}
	list := func(sketch []float32) string { return fmt.Sprint(sketch) }
	return words(s.Rank, benchRank, s.Step, own.MicroStep, own.Seq, own.SiteID, b.SiteID, m.Problem >= 0, m.Bench >= 0,
		p.LayoutID, b.LayoutID, p.Measured, b.Measured, p.ElementCount, b.ElementCount, p.Min, b.Min, p.Max, b.Max, p.Mean, b.Mean, p.L2, b.L2,
		p.NaNCount, b.NaNCount, p.PositiveInfinityCount, b.PositiveInfinityCount, p.NegativeInfinityCount, b.NegativeInfinityCount,
		p.Digest, b.Digest, p.DigestKind, b.DigestKind, list(p.Sketch), list(b.Sketch))
}

// ranked makes a run of ranks that ended one step each.
func ranked(places ...schemas.RankRow) *rows.Run {
	run := &rows.Run{Name: "run", Ranks: places}
	for _, r := range places {
		run.Steps = append(run.Steps, schemas.StepRow{Rank: r.Rank, ProgramID: 9, Complete: 1})
	}
	return run
}

func TestPairRanksByRule(t *testing.T) {
	t.Parallel()
	at := func(rank uint32, tp, dp, dpSize int16) schemas.RankRow {
		return schemas.RankRow{Rank: rank, TP: tp, DP: dp, DPSize: dpSize, PP: -1, CP: -1, EP: -1}
	}
	unknown := func(rank uint32) schemas.RankRow { return at(rank, -1, -1, -1) }
	for _, c := range []struct {
		what           string
		problem, bench *rows.Run
		want           string
	}{
		{"the same coordinates at other ranks", ranked(at(0, 0, 0, 1), at(1, 1, 0, 1)), ranked(at(0, 1, 0, 1), at(1, 0, 0, 1)), "[{0 1 coordinates} {1 0 coordinates}]"},
		{"two replicas beside one", ranked(at(0, 0, 0, 2), at(1, 0, 1, 2)), ranked(at(0, 0, 0, 1)), "[{0 0 coordinates} {1 0 replica}]"},
		{"one replica beside two", ranked(at(0, 0, 0, 1)), ranked(at(3, 0, 1, 2), at(4, 0, 0, 2)), "[{0 4 coordinates}]"},
		{"coordinates that one run lacks", ranked(at(0, 1, 0, 1), at(1, 0, 0, 1)), ranked(unknown(0), unknown(1)), "[{0 0 number} {1 1 number}]"},
		{"coordinates that two ranks share", ranked(at(0, 0, 0, 1), at(1, 0, 0, 1)), ranked(at(0, 0, 0, 1), at(1, 1, 0, 1)), "[{0 0 number} {1 1 number}]"},
		{"a rank that nobody described", &rows.Run{Steps: []schemas.StepRow{{Rank: 2}}}, ranked(at(2, 0, 0, 1)), "[{2 2 number}]"},
		{"replicas that one run knows nothing of", ranked(at(0, 0, 0, 1), at(1, 1, 0, 1)), ranked(at(0, 1, -1, -1), at(1, 0, -1, -1)), "[{0 1 coordinates} {1 0 coordinates}]"},
		{"replicas that one run has, and the other knows nothing of", ranked(at(0, 0, 0, 2), at(1, 0, 1, 2)), ranked(at(0, 0, -1, -1)), "[]"},
		{"no partner", ranked(at(0, 0, 0, 1)), ranked(at(0, 1, 0, 1)), "[]"},
		{"nothing", &rows.Run{}, &rows.Run{}, "[]"},
	} {
		if got := fmt.Sprint(pair.PairRanks(c.problem, c.bench)); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}
