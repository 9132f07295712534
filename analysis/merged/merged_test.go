package merged_test

import (
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
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/analysis/rows/folders"
	"github.com/tensortap/tensortap/internal/dev/recorded"
	"github.com/tensortap/tensortap/schemas"
)

// openRecorded opens recordings of a small Llama on one or several tensor-parallel ranks.
func openRecorded(t *testing.T, problem, bench string) *merged.Source {
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
	source, err := merged.Open(t.Context(), base, problem, []string{bench}, 0)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// compareMerged counts the verdicts of the runs that a source merged, and gives the first pair that differs.
func compareMerged(t *testing.T, source *merged.Source, problem, bench string) (map[judge.Class]int, *judge.Judged) {
	t.Helper()
	r := compare.DefaultRequest()
	r.Problem, r.Benches = source.Judged(problem), []string{source.Judged(bench)}
	job, err := compare.Open(t.Context(), source, r)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[judge.Class]int{}
	var first *judge.Judged
	verdicts := make(chan []judge.Judged, len(job.Steps()))
	err = job.Judge(t.Context(), job.Steps(), func(_ pair.Step, judged []judge.Judged) error {
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
			if first == nil && list[i].Differs {
				first = &list[i]
			}
		}
	}
	return counts, first
}

func TestRunsOfOtherTensorParallelSizesAgree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		problem, bench string
		merges         int
		want           map[judge.Class]int // what compare said of the merged runs when they were stored
	}{
		{"whole", "halves", 1, map[judge.Class]int{judge.Agrees: 357, judge.Equal: 29, judge.Unpaired: 14 + 28}},
		{"quarters", "halves", 2, map[judge.Class]int{judge.Agrees: 367, judge.Equal: 29, judge.Unknown: 18}},
		{"halves", "whole", 1, map[judge.Class]int{judge.Agrees: 357, judge.Equal: 29, judge.Unpaired: 14 + 28}},
	} {
		t.Run(c.problem+" beside "+c.bench, func(t *testing.T) {
			t.Parallel()
			source := openRecorded(t, c.problem, c.bench)
			counts, _ := compareMerged(t, source, c.problem, c.bench)
			if len(source.Merges()) != c.merges {
				t.Errorf("merged %v, want %d runs", source.Merges(), c.merges)
			}
			if !maps.Equal(counts, c.want) {
				t.Errorf("%v, want %v", counts, c.want)
			}
		})
	}
}

func TestRunsOfTheSameSizeAreLeftAsTheyAre(t *testing.T) {
	t.Parallel()
	source := openRecorded(t, "halves", "scaled")
	if len(source.Merges()) != 0 || source.Judged("halves") != "halves" || source.Rank(1) != 1 {
		t.Errorf("merged %v", source.Merges())
	}
}

func TestScaledPartOfAWeightIsTracedToItsRank(t *testing.T) {
	t.Parallel()
	source := openRecorded(t, "scaled", "whole")
	_, first := compareMerged(t, source, "scaled", "whole")
	if first == nil {
		t.Fatal("nothing differs")
	}
	site := source.Definitions().Sites[first.Problem.SiteID]
	if op := source.Definitions().Ops[site.OpID]; op.Name != "Functional.linear.12.forward" || site.Role != "input" || site.Path != "1" {
		t.Errorf("it began at %s %s %s", op.Name, site.Role, site.Path)
	}
	parts, err := source.Parts(t.Context(), source.Judged("scaled"), rows.Place{Rank: first.Rank, Step: first.Step}, first.Problem.SiteID)
	if err != nil {
		t.Fatal(err)
	}
	whole := merge.WholeOf(&first.Bench, source.Definitions().Layout(first.Bench.LayoutID).Shape)
	if ranks, why := whole.StandOut(parts); fmt.Sprint(ranks) != "[1]" || why != merge.BecauseBeyond {
		t.Errorf("ranks %v stand out, %q, want rank 1", ranks, why)
	}
	if got := source.Rank(1); got != 0 {
		t.Errorf("rank 1 became rank %d, want 0", got)
	}
	if l := source.Definitions().Layout(first.Problem.LayoutID); l == nil || l.Kind != "tensor" || l.LayoutID != schemas.LayoutID(l) {
		t.Errorf("the merged tensor has layout %+v", l)
	}
}
