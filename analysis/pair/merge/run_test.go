package merge

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// runOf is a run of ranks that ended step 0 each, of program 9.
func runOf(ranks []schemas.RankRow) *rows.Run {
	run := &rows.Run{Name: "run", ID: schemas.RunID("run"), Ranks: ranks}
	for _, r := range ranks {
		run.Steps = append(run.Steps, schemas.StepRow{Rank: r.Rank, ProgramID: 9, Epoch: uint64(r.Rank) + 1, TensorCount: 6, Complete: 1})
		run.Missing = append(run.Missing, rows.Completeness{Rank: r.Rank, Complete: true, Steps: 1, Stored: 6, Produced: 6})
	}
	return run
}

func twoRanks() *rows.Run {
	return runOf([]schemas.RankRow{{Rank: 0, TP: 0, TPSize: 2, DP: 3}, {Rank: 1, TP: 1, TPSize: 2, DP: 3}})
}

func TestMergedRunHasOneRankOfEachGroup(t *testing.T) {
	t.Parallel()
	run, other := twoRanks(), runOf([]schemas.RankRow{{Rank: 0, TPSize: 1}})
	made := New(run, other, 0, rows.NewDefinitions()).Run()
	if made.Name != run.Name || made.ID != run.ID {
		t.Errorf("run %s of id %d", made.Name, made.ID)
	}
	if len(made.Ranks) != 1 || made.Ranks[0].TP != 0 || made.Ranks[0].TPSize != 1 || made.Ranks[0].DP != 3 || made.Ranks[0].SourceName != "group of rank 0" {
		t.Errorf("ranks %+v", made.Ranks)
	}
	if len(made.Steps) != 1 || made.Steps[0].Complete != 1 || made.Steps[0].ProgramID != 9 || made.Steps[0].TensorCount != 6 {
		t.Errorf("steps %+v", made.Steps)
	}
	if len(made.Missing) != 1 || !made.Missing[0].Complete || made.Missing[0].Stored != 12 || made.Missing[0].Steps != 1 {
		t.Errorf("missing %+v", made.Missing)
	}
}

func TestMergedRunSaysWhatIsMissingOfItsParts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what     string
		damage   func(*rows.Run)
		complete uint8
		want     string
	}{
		{"nothing", func(*rows.Run) {}, 1, ""},
		{"a rank died before its first step", func(r *rows.Run) { r.Steps = r.Steps[:1] }, 0, "1 steps were cut short"},
		{"a step was cut short", func(r *rows.Run) { r.Steps[1].Complete = 0 }, 0, "1 steps were cut short"},
		{"rows are missing", func(r *rows.Run) { r.Missing[1] = rows.Completeness{Rank: 1, Explanation: "3 rows are missing"} }, 1, "rank 1: 3 rows are missing"},
	} {
		run := twoRanks()
		c.damage(run)
		made := New(run, runOf(nil), 0, rows.NewDefinitions()).Run()
		if made.Steps[0].Complete != c.complete || made.Missing[0].Explanation != c.want || made.Missing[0].Complete != (c.want == "") {
			t.Errorf("%s: step complete %d, missing %+v, want %q", c.what, made.Steps[0].Complete, made.Missing[0], c.want)
		}
	}
}

func TestMergedStepIsAnotherWhenAPartOrThePartnerIs(t *testing.T) {
	t.Parallel()
	step := func(damage func(run, other *rows.Run)) schemas.StepRow {
		run, other := twoRanks(), runOf([]schemas.RankRow{{Rank: 0, TPSize: 1}})
		damage(run, other)
		return New(run, other, 0, rows.NewDefinitions()).Run().Steps[0]
	}
	before := step(func(_, _ *rows.Run) {})
	if again := step(func(_, _ *rows.Run) {}); again.Epoch != before.Epoch || again.Generation != before.Generation {
		t.Errorf("the same step has epoch %d and %d", before.Epoch, again.Epoch)
	}
	for what, damage := range map[string]func(run, other *rows.Run){
		"a part was replaced":   func(run, _ *rows.Run) { run.Steps[1].Epoch, run.Steps[1].Generation = 77, 1 },
		"the partner was":       func(_, other *rows.Run) { other.Steps[0].Epoch, other.Steps[0].Generation = 77, 1 },
		"the partner came late": func(_, other *rows.Run) { other.Steps = append(other.Steps, schemas.StepRow{Rank: 1}) },
	} {
		if after := step(damage); after.Epoch == before.Epoch || after.Generation <= before.Generation {
			t.Errorf("%s: epoch %d, generation %d, before %d and %d", what, after.Epoch, after.Generation, before.Epoch, before.Generation)
		}
	}
}

func TestPartsOfAPlaceAreThoseOfItsGroup(t *testing.T) {
	t.Parallel()
	run := twoRanks()
	run.Steps = append(run.Steps, schemas.StepRow{Rank: 0, Step: 1})
	run.Open = []rows.Place{{Rank: 1, Step: 1}, {Rank: 1, Step: 2}, {Rank: 7, Step: 1}}
	m := New(run, runOf(nil), 0, rows.NewDefinitions())
	for at, want := range map[rows.Place]string{
		{Rank: 0, Step: 0}: "[{0 0} {1 0}]",
		{Rank: 0, Step: 1}: "[{0 1} {1 1}]",
		{Rank: 1, Step: 0}: "[]",
	} {
		if got := fmt.Sprint(m.Parts(at)); got != want {
			t.Errorf("parts of %v: %s, want %s", at, got, want)
		}
	}
}

func TestSplitWeightByRule(t *testing.T) {
	t.Parallel()
	yes := uint8(1)
	definitions := func(problem, bench []int64, site schemas.SiteRow, trained *uint8) *rows.Definitions {
		d := rows.NewDefinitions()
		d.Layouts[1] = &schemas.LayoutRow{Kind: "tensor", Shape: problem, RequiresGrad: trained}
		d.Layouts[2] = &schemas.LayoutRow{Kind: "tensor", Shape: bench, RequiresGrad: trained}
		d.Sites[7] = site
		return d
	}
	weight := schemas.SiteRow{Role: "parameter", Path: "weight"}
	for _, c := range []struct {
		what           string
		problem, bench []int64
		site           schemas.SiteRow
		trained        *uint8
		want           bool
	}{
		{"half a weight", []int64{4, 2}, []int64{8, 2}, weight, nil, true},
		{"a third of a weight", []int64{4, 2}, []int64{12, 2}, weight, nil, false},
		{"half in both dimensions", []int64{4, 2}, []int64{8, 4}, weight, nil, false},
		{"the same", []int64{4, 2}, []int64{4, 2}, weight, nil, false},
		{"another number of dimensions", []int64{4, 2}, []int64{8}, weight, nil, false},
		{"half an input that is trained", []int64{4, 2}, []int64{8, 2}, schemas.SiteRow{Role: "input", Path: "1"}, &yes, true},
		{"half an input that is not", []int64{4, 2}, []int64{8, 2}, schemas.SiteRow{Role: "input", Path: "1"}, nil, false},
		{"half the first input", []int64{4, 2}, []int64{8, 2}, schemas.SiteRow{Role: "input", Path: "0"}, &yes, false},
		{"half a batch", []int64{4, 2, 2}, []int64{8, 2, 2}, schemas.SiteRow{Role: "input", Path: "1"}, &yes, false},
		{"half an output", []int64{4, 2}, []int64{8, 2}, schemas.SiteRow{Role: "output", Path: "0"}, &yes, false},
	} {
		p, b := &rows.Tensors{SiteID: []uint64{7}, LayoutID: []uint64{1}}, &rows.Tensors{SiteID: []uint64{7}, LayoutID: []uint64{2}}
		d := definitions(c.problem, c.bench, c.site, c.trained)
		if got := (Sizes{Problem: 2, Bench: 1}).SplitWeight(p, b, pair.Build(p, b, nil).Matches(p, b), d); got != c.want {
			t.Errorf("%s: split is %v, want %v", c.what, got, c.want)
		}
	}
}

func TestStandOutByRule(t *testing.T) {
	t.Parallel()
	part := func(rank uint32, greatest, norm float64, nans uint64) Part {
		return Part{rank, rows.Observation{
			Measured: schemas.MeasuredMin | schemas.MeasuredMax | schemas.MeasuredL2, ElementCount: 4, Min: -1, Max: greatest, L2: norm, NaNCount: nans,
		}}
	}
	unmeasured := Part{2, rows.Observation{ElementCount: 4}}
	of := Whole{Least: -1, Greatest: 1, RootMeanSquare: 1, Elements: 8}
	for _, c := range []struct {
		what  string
		whole Whole
		parts []Part
		ranks []uint32
		why   string
	}{
		{"one beyond", of, []Part{part(0, 1, 2, 0), part(1, 1.5, 2, 0)}, []uint32{1}, BecauseBeyond},
		{"one with NaN", of, []Part{part(0, 1, 2, 1), part(1, 1, 2, 0)}, []uint32{0}, BecauseBeyond},
		{"beyond by rounding", of, []Part{part(0, 1, 2, 0), part(1, 1.009, 2, 0)}, nil, ""},
		{"all beyond, one the least like the whole", of, []Part{part(0, 2, 2.1, 0), part(1, 2, 4, 0)}, []uint32{1}, BecauseLeastLike},
		{"the least like the whole", of, []Part{part(0, 1, 2.1, 0), part(1, 1, 4, 0)}, []uint32{1}, BecauseLeastLike},
		{"not clearly", of, []Part{part(0, 1, 3, 0), part(1, 1, 4, 0)}, nil, ""},
		{"one that was not measured", of, []Part{unmeasured, part(1, 1, 4, 0)}, nil, ""},
		{"nothing to hold against", Whole{math.NaN(), math.NaN(), math.NaN(), 8}, []Part{part(0, 1, 2, 0), part(1, 9, 9, 0)}, nil, ""},
		{"one loaded twice", of, []Part{part(0, 1, 2, 0), part(1, 1, 2, 0)}, []uint32{1}, BecauseTwice},
		{"copies of the whole", Whole{Least: -1, Greatest: 1, RootMeanSquare: 1, Elements: 4}, []Part{part(0, 1, 2, 0), part(1, 1, 2, 0)}, nil, ""},
		{"one part", of, []Part{part(0, 1, 4, 0)}, nil, ""},
		{"none", of, nil, nil, ""},
	} {
		if ranks, why := c.whole.StandOut(c.parts); !slices.Equal(ranks, c.ranks) || why != c.why {
			t.Errorf("%s: ranks %v, %q, want %v, %q", c.what, ranks, why, c.ranks, c.why)
		}
	}
}

// TestTheOnlyHeadsOfRanksMakeTheHeads: a rank that has one head gives it as a row, where the other run has a matrix of heads.
func TestTheOnlyHeadsOfRanksMakeTheHeads(t *testing.T) {
	t.Parallel()
	row := &schemas.LayoutRow{Kind: kindTensor, Shape: []int64{32}}
	for _, c := range []struct {
		beside []int64
		want   sort
	}{{[]int64{2, 32}, shards}, {[]int64{3, 32}, pieces}, {[]int64{32}, sums}} {
		p := parts{
			list: []rows.Observation{{ElementCount: 32, Max: 1}, {ElementCount: 32, Max: 2}}, layouts: []*schemas.LayoutRow{row, row},
			members: 2, otherSize: 1, found: true, other: &schemas.LayoutRow{Kind: kindTensor, Shape: c.beside},
		}
		w := p.whole()
		if w.sort != c.want || c.want == shards && (!slices.Equal(w.shape, c.beside) || w.ElementCount != 64) {
			t.Errorf("beside %v: sort %d, shape %v, want sort %d", c.beside, w.sort, w.shape, c.want)
		}
	}
}

func TestWholeOfIsWhatWasMeasured(t *testing.T) {
	t.Parallel()
	o := rows.Observation{Measured: schemas.MeasuredMax | schemas.MeasuredL2, Max: 3, L2: 4}
	if w := WholeOf(&o, []int64{2, 2}); !math.IsNaN(w.Least) || w.Greatest != 3 || w.RootMeanSquare != 2 {
		t.Errorf("whole %+v", w)
	}
	if w := WholeOf(&o, []int64{0}); !math.IsNaN(w.RootMeanSquare) {
		t.Errorf("whole of no elements %+v", w)
	}
}
