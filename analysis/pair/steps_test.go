package pair_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// stepped makes a run of steps, each written rank.step=program, or rank.step of one that has not ended.
func stepped(text string) *rows.Run {
	run := &rows.Run{Name: text}
	for word := range strings.FieldsSeq(text) {
		var at rows.Place
		var program uint64
		if n, _ := fmt.Sscanf(word, "%d.%d=%d", &at.Rank, &at.Step, &program); n < 3 {
			run.Open = append(run.Open, at)
			continue
		}
		run.Steps = append(run.Steps, schemas.StepRow{Rank: at.Rank, Step: at.Step, ProgramID: program, Complete: 1})
	}
	return run
}

// serving adds requests, each written rank.step:prompt.
func serving(run *rows.Run, text string) *rows.Run {
	for word := range strings.FieldsSeq(text) {
		var r schemas.RequestRow
		position := uint64(0)
		_, _ = fmt.Sscanf(word, "%d.%d:%d", &r.Rank, &r.Step, &r.PromptHash)
		r.FirstPosition, r.TokenCount = &position, 4
		run.Requests = append(run.Requests, r)
	}
	return run
}

// trained adds what a trainer says of each step, in their order: the phase and the number of its own steps before.
func trained(run *rows.Run, text string) *rows.Run {
	for i, word := range strings.Fields(text) {
		phase, count, _ := strings.Cut(word, ".")
		var global uint64
		_, _ = fmt.Sscan(count, &global)
		run.Steps[i].Phase, run.Steps[i].GlobalStep = phase, &global
	}
	return run
}

func shownSteps(steps []pair.Step) string {
	var list []string
	for _, s := range steps {
		problem, bench := "-", "-"
		if s.InProblem {
			problem = fmt.Sprint(s.ProblemProgram)
		}
		if s.InBench {
			bench = fmt.Sprintf("%d.%d=%d", s.BenchRank, s.BenchStep, s.BenchProgram)
		}
		list = append(list, fmt.Sprintf("%d.%d=%s|%s", s.Rank, s.Step, problem, bench))
	}
	return strings.Join(list, " ")
}

func TestTheOnlyStepsOfTwoRunsPairWhateverTheirNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		problem, bench string
		want           int64
	}{
		{"0.0=1 1.0=1", "0.1=1 1.1=1", 1},
		{"0.7=1", "0.2", -5},
		{"0.0=1", "0.0=1", 0},
		{"0.0=1 0.1=1", "0.3=1", 0},
		{"0.0=1", "0.3=1 0.4", 0},
		{"", "0.3=1", 0},
	} {
		if got := pair.OnlyStepsOffset(stepped(c.problem), stepped(c.bench)); got != c.want {
			t.Errorf("OnlyStepsOffset(%q, %q) = %d, want %d", c.problem, c.bench, got, c.want)
		}
	}
}

func TestPairStepsByRule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what           string
		problem, bench *rows.Run
		offset         int64
		want           string
	}{
		{"by number", stepped("0.0=9 0.1=9"), stepped("0.1=9 0.2=9"), 0, "0.0=9|- 0.1=9|0.1=9 0.2=-|0.2=9"},
		{"by step, then rank", stepped("0.0=9 0.1=9 1.0=9"), stepped("0.0=9 1.0=9"), 0, "0.0=9|0.0=9 1.0=9|1.0=9 0.1=9|-"},
		{"a step that has not ended", stepped("0.0=9 0.1"), stepped("0.0=9 0.1=9"), 0, "0.0=9|0.0=9 0.1=0|0.1=9"},
		{"a rank of either run alone", stepped("0.0=9 1.0=9"), stepped("0.0=9 2.0=9"), 0, "0.0=9|0.0=9 1.0=9|- 2.0=-|2.0=9"},
		{"a rank of the bench alone where something moved", stepped("0.0=9"), stepped("0.0=8 2.0=9"), 0, "0.0=9|0.0=8 4294967293.0=-|2.0=9"},
		{"an offset", stepped("0.0=9 0.1=9"), stepped("0.0=9 0.1=9 0.3=9"), 1, "0.0=9|0.1=9 0.1=9|- 0.2=-|0.3=9"},
		{"a negative offset", stepped("0.0=9 0.1=9"), stepped("0.0=9"), -1, "0.0=9|- 0.1=9|0.0=9"},
		{
			"what is served", serving(stepped("0.0=9 0.1=9"), "0.0:7 0.1:8"), serving(stepped("0.0=9 0.1=9 0.2=9"), "0.0:8 0.1:6 0.2:7"), 0,
			"0.0=9|0.2=9 0.1=9|0.0=9 0.4294967294=-|0.1=9",
		},
		{
			"what is served, in the same order", serving(stepped("0.0=9 0.1=9"), "0.0:7 0.1:8"), serving(stepped("0.0=9 0.1=9"), "0.0:7 0.1:6"), 0,
			"0.0=9|0.0=9 0.1=9|0.1=9",
		},
		{
			"an offset, whatever is served", serving(stepped("0.0=9 0.1=9"), "0.0:7 0.1:8"), serving(stepped("0.0=9 0.1=9"), "0.0:8 0.1:7"), 1,
			"0.0=9|0.1=9 0.1=9|-",
		},
		{
			"what a trainer counts, evaluated in one run only", trained(stepped("0.0=9 0.1=8 0.2=9 0.3=8"), "train.0 evaluate.1 train.1 evaluate.2"),
			trained(stepped("0.0=9 0.1=9 0.2=8"), "train.0 train.1 evaluate.2"), 0, "0.0=9|0.0=9 0.1=8|- 0.2=9|0.1=9 0.3=8|0.2=8",
		},
		{
			"what a trainer counts, where numbers agree but for one", trained(stepped("0.0=9 0.1=8"), "train.0 evaluate.1"),
			trained(stepped("0.0=9 0.1=9"), "train.0 train.1"), 0, "0.0=9|0.0=9 0.1=8|- 0.4294967294=-|0.1=9",
		},
		{
			"batches of one evaluation in their order", trained(stepped("0.0=8 0.1=8 0.2=9"), "evaluate.0 evaluate.0 train.0"),
			trained(stepped("0.0=8 0.1=9"), "evaluate.0 train.0"), 0, "0.0=8|0.0=8 0.1=8|- 0.2=9|0.1=9",
		},
		{
			"a training that goes on elsewhere", trained(stepped("0.0=9 0.1=9"), "train.7 train.8"),
			trained(stepped("0.0=9 0.1=9"), "train.8 train.9"), 0, "0.0=9|- 0.1=9|0.0=9 0.4294967294=-|0.1=9",
		},
		{
			"what trainers count of other trainings", trained(stepped("0.0=9"), "train.7"), trained(stepped("0.0=9"), "train.0"), 0, "0.0=9|0.0=9",
		},
		{"what one trainer counts", trained(stepped("0.0=9 0.1=9"), "train.1 train.2"), stepped("0.0=9 0.1=9"), 0, "0.0=9|0.0=9 0.1=9|0.1=9"},
		{"nothing", stepped(""), stepped(""), 0, ""},
	} {
		if got := shownSteps(pair.PairSteps(c.problem, c.bench, pair.PairRanks(c.problem, c.bench), c.offset)); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

func TestPairStepsGivesOneReplicaToBothItsPartners(t *testing.T) {
	t.Parallel()
	at := func(rank uint32, dp, size int16) schemas.RankRow {
		return schemas.RankRow{Rank: rank, DP: dp, DPSize: size}
	}
	problem, bench := ranked(at(0, 0, 2), at(1, 1, 2)), ranked(at(0, 0, 1))
	got := shownSteps(pair.PairSteps(problem, bench, pair.PairRanks(problem, bench), 0))
	if want := "0.0=9|0.0=9 1.0=9|0.0=9"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// programs defines programs of one op each.
func programs(ids ...uint64) *rows.Definitions {
	d := rows.NewDefinitions()
	for _, id := range ids {
		d.Programs[id] = []schemas.ProgramRow{{ProgramID: id, OpID: 1000 + id}}
	}
	return d
}

func TestAlignerLeavesProgramsThatWereCutShortToTheNamesOfTheirOps(t *testing.T) {
	t.Parallel()
	problem, bench := stepped("0.0=1 0.1=2 0.2=3 0.3=4"), stepped("0.0=5 0.1=5 0.2=3 0.3=5")
	problem.Steps[1].Complete = 0
	steps := pair.PairSteps(problem, bench, pair.PairRanks(problem, bench), 0)
	aligner, err := pair.NewAligner(problem, bench, steps, programs(1, 2, 3, 5))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what  string
		pair  pair.Programs
		wants bool
	}{
		{"different programs", pair.Programs{Problem: 1, Bench: 5}, true},
		{"one cut short", pair.Programs{Problem: 2, Bench: 5}, false},
		{"the same", pair.Programs{Problem: 3, Bench: 3}, false},
		{"one that is not defined", pair.Programs{Problem: 4, Bench: 5}, false},
		{"never beside each other", pair.Programs{Problem: 1, Bench: 3}, false},
	} {
		if got := aligner.Align(c.pair) != nil; got != c.wants {
			t.Errorf("%s: aligned is %v, want %v", c.what, got, c.wants)
		}
	}
}

func TestAlignerWarnsOfTooManyPrograms(t *testing.T) {
	t.Parallel()
	problem, bench := &rows.Run{Name: "bad"}, &rows.Run{Name: "good"}
	var ids []uint64
	for i := range uint32(1001) {
		ids = append(ids, uint64(i)+10)
		problem.Steps = append(problem.Steps, schemas.StepRow{Step: i, ProgramID: uint64(i) + 10, Complete: 1})
		bench.Steps = append(bench.Steps, schemas.StepRow{Step: i, ProgramID: 9, Complete: 1})
	}
	steps := pair.PairSteps(problem, bench, pair.PairRanks(problem, bench), 0)
	aligner, err := pair.NewAligner(problem, bench, steps, programs(append(ids, 9)...))
	var tooMany *pair.TooManyProgramsError
	if !errors.As(err, &tooMany) || tooMany.Most != 1000 {
		t.Fatalf("NewAligner of 1001 pairs: %v, want a TooManyProgramsError of 1000", err)
	}
	if n := len(aligner.Alignments()); n != 1000 {
		t.Errorf("%d pairs are aligned, want 1000", n)
	}
}
