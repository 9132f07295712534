package merged_test

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/merged"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/pair/merge"
	"github.com/tensortap/tensortap/analysis/rows/folders"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/schemas"
)

// openRecorded opens recordings of a small Llama on one or several tensor-parallel ranks.
func openRecorded(t *testing.T, problem, bench string) *folders.Source {
	t.Helper()
	var list []folders.Folder
	for _, name := range []string{problem, bench} {
		dir := t.TempDir()
		if err := recorded.Extract(filepath.Join("..", "..", "e2e", "answers", "testdata", "tp", name+".tar.gz"), dir); err != nil {
			t.Fatal(err)
		}
		list = append(list, folders.Folder{Name: name, Path: filepath.Join(dir, name, "dump")})
	}
	base, err := folders.Open(t.Context(), list, nil)
	if err != nil {
		t.Fatal(err)
	}
	return base
}

// request compares two runs; their ranks are merged if need be.
func request(problem, bench string) compare.Request {
	r := compare.DefaultRequest()
	r.Problem, r.Benches, r.Merge = problem, []string{bench}, true
	return r
}

// open opens a comparison of recordings.
func open(t *testing.T, problem, bench string) *compare.Job {
	t.Helper()
	job, err := compare.Open(t.Context(), openRecorded(t, problem, bench), request(problem, bench))
	if err != nil {
		t.Fatal(err)
	}
	return job
}

// count counts the verdicts of a comparison.
func count(t *testing.T, job *compare.Job) map[judge.Class]int {
	t.Helper()
	counts := map[judge.Class]int{}
	verdicts := make(chan []judge.Judged, len(job.Steps()))
	err := job.Judge(t.Context(), job.Steps(), func(_ pair.Step, judged []judge.Judged) error {
		verdicts <- slices.Clone(judged)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	close(verdicts)
	for list := range verdicts {
		for i := range list {
			counts[list[i].Class]++
		}
	}
	return counts
}

func TestRunsOfOtherTensorParallelSizesAgree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		problem, bench string
		merges         int
		want           map[judge.Class]int // the answer of compare on the stored merged runs
	}{
		{"whole", "halves", 1, map[judge.Class]int{judge.Agrees: 357, judge.Equal: 29, judge.Unpaired: 14 + 28}},
		{"quarters", "halves", 2, map[judge.Class]int{judge.Agrees: 367, judge.Equal: 29, judge.Unknown: 18}},
		{"halves", "whole", 1, map[judge.Class]int{judge.Agrees: 357, judge.Equal: 29, judge.Unpaired: 14 + 28}},
	} {
		t.Run(c.problem+" beside "+c.bench, func(t *testing.T) {
			t.Parallel()
			job := open(t, c.problem, c.bench)
			counts := count(t, job)
			if len(job.Merges()) != c.merges {
				t.Errorf("merged %v, want %d runs", job.Merges(), c.merges)
			}
			if !maps.Equal(counts, c.want) {
				t.Errorf("%v, want %v", counts, c.want)
			}
		})
	}
}

func TestRunsOfTheSameSizeAreLeftAsTheyAre(t *testing.T) {
	t.Parallel()
	if job := open(t, "halves", "scaled"); len(job.Merges()) != 0 {
		t.Errorf("merged %v", job.Merges())
	}
}

func TestScaledPartOfAWeightIsTracedToItsRank(t *testing.T) {
	t.Parallel()
	answer, err := compare.Run(t.Context(), openRecorded(t, "scaled", "whole"), request("scaled", "whole"))
	if err != nil || len(answer.Origins) != 1 {
		t.Fatalf("origins %+v, %v, want one", answer, err)
	}
	o := answer.Origins[0]
	if o.Op != "Functional.linear.12.forward" || o.Role != "input" || o.Path != "1" {
		t.Errorf("it began at %s %s %s", o.Op, o.Role, o.Path)
	}
	if part := answer.Parts[0]; fmt.Sprint(part.Ranks) != "[1]" || part.Why != merge.BecauseBeyond {
		t.Errorf("it is the part of %+v, want rank 1", part)
	}
	if l := o.ProblemLayout; l.Kind != "tensor" || l.LayoutID != schemas.LayoutID(l) {
		t.Errorf("the merged tensor has layout %+v", l)
	}
}

func TestRankOfTheProblemIsTheOneThatItBecame(t *testing.T) {
	t.Parallel()
	r := request("scaled", "whole")
	r.Rank = 1
	answer, err := compare.Run(t.Context(), openRecorded(t, "scaled", "whole"), r)
	if err != nil || len(answer.Summary) != 1 || answer.Summary[0].Rank != 0 || answer.Problem.Name != "scaled" {
		t.Errorf("rank 1: %+v, %v, want rank 0, which it is part of", answer, err)
	}
}

func TestBenchesOfDifferentGroupsAreComparedOneAtATime(t *testing.T) {
	t.Parallel()
	source := openRecorded(t, "halves", "whole")
	r := request("halves", "whole")
	r.Benches = append(r.Benches, "halves")
	_, err := compare.Open(t.Context(), source, r)
	if want := (&merged.OtherGroupsError{}); !errors.As(err, &want) || want.Same != "halves" || want.Other != "whole" {
		t.Errorf("Open of benches of both sizes: %v, want an error that names them", err)
	}
}
