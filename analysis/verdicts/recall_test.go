package verdicts

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/tensortap/tensortap/analysis/internal/cases"
	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/pair"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

const (
	tensorLayout uint64 = 1
	textLayout   uint64 = 2
	sitesOfPlace        = 12
)

// recalled is a comparison of which some places are recalled from their rows.
type recalled struct {
	definitions    *rows.Definitions
	problem, bench *rows.Run
	options        result.Options
	places         []pair.Step
	judged         [][]judge.Judged
}

// newRecalled makes a comparison up: of most, few places differ.
func newRecalled(random *rand.Rand) *recalled {
	r := &recalled{
		definitions: rows.NewDefinitions(), problem: &rows.Run{Name: "problem", ID: 1}, bench: &rows.Run{Name: "bench", ID: 2},
		options: result.DefaultOptions(),
	}
	r.options.Limit, r.options.UnpairedLimit, r.options.Texts = 1+random.IntN(40), random.IntN(9), random.IntN(2) == 0
	r.definitions.Layouts[tensorLayout] = &schemas.LayoutRow{LayoutID: tensorLayout, Kind: "tensor", Dtype: "torch.float32"}
	r.definitions.Layouts[textLayout] = &schemas.LayoutRow{LayoutID: textLayout, Kind: "str"}
	for site := range uint64(sitesOfPlace) {
		op := &schemas.OpRow{OpID: 100 + site/2, Name: string(rune('a' + site/2)), Level: "api", LayerIndex: int32(site) / 4}
		r.definitions.Ops[op.OpID] = op
		r.definitions.Sites[1+site] = schemas.SiteRow{SiteID: 1 + site, OpID: op.OpID, Role: []string{"input", "output"}[site%2], Path: "0"}
	}
	faults, kinds := []float64{0, 0.002, 0.01, 0.3}[random.IntN(4)], []int{2, 3, 7}[random.IntN(3)]
	for step := range uint32(30) {
		for rank := range uint32(3) {
			r.places = append(r.places, pair.Step{Rank: rank, Step: step, BenchRank: rank, BenchStep: step, InProblem: true, InBench: true})
			r.judged = append(r.judged, judgedAtRandom(random, rank, step, faults, kinds))
		}
	}
	return r
}

func judgedAtRandom(random *rand.Rand, rank, step uint32, faults float64, kinds int) []judge.Judged {
	judged := make([]judge.Judged, sitesOfPlace)
	for i := range judged {
		j := &judged[i]
		tensor := rows.Observation{
			Seq: uint64(i), SiteID: uint64(i) + 1, LayoutID: tensorLayout, Measured: schemas.MeasuredMin | schemas.MeasuredL2,
			ElementCount: 4, Min: random.NormFloat64(), L2: math.Inf(1),
		}
		j.Pair = judge.Pair{Rank: rank, Step: step, BenchRank: rank, BenchStep: step, InProblem: true, InBench: true, Problem: tensor, Bench: tensor}
		j.Verdict = judge.Verdict{
			Class: judge.Within, Numeric: judge.NumericWithin, Evidence: judge.EvidenceStatistics, Error: 1e-7 * random.Float64(),
			ErrorLow: math.NaN(), ErrorHigh: math.NaN(), ZScore: math.NaN(), Tolerance: 1e-5,
		}
		if random.Float64() < faults {
			spoil(random.IntN(kinds), random, j)
		}
	}
	return judged
}

func spoil(kind int, random *rand.Rand, j *judge.Judged) {
	switch kind {
	case 0, 1:
		j.Class, j.Numeric, j.Differs, j.Error = judge.Diverged, judge.NumericDiverged, true, math.Pow(10, 9*random.Float64()-7)
	case 2:
		j.Class, j.Numeric, j.Differs, j.Error, j.Side = judge.NotFinite, judge.NumericNotFinite, random.IntN(4) > 0, math.NaN(), judge.SideProblem
		j.Problem.NaNCount = 2
	case 3:
		j.Class, j.Reason, j.Side, j.InBench, j.Bench = judge.Unpaired, "missing", judge.SideProblem, false, rows.Observation{}
		j.Problem.NaNCount = uint64(random.IntN(2))
	case 4:
		j.Class, j.Reason, j.Side, j.InProblem, j.Problem = judge.Unknown, "incomplete", judge.SideBench, false, rows.Observation{}
		j.Bench.Max, j.Error = math.NaN(), math.NaN()
	case 5:
		j.Class, j.Structure, j.Differs, j.Evidence, j.Error = judge.Structure, true, true, judge.EvidenceLiteral, math.NaN()
		j.Problem = rows.Observation{Seq: j.Problem.Seq, SiteID: j.Problem.SiteID, LayoutID: textLayout}
	default:
		j.Class, j.Reason, j.Evidence, j.Error = judge.Unknown, "no statistics", judge.EvidenceNone, math.NaN()
	}
}

// TestWhatIsRecalledIsTheSame holds a comparison of which places are recalled against one that judges all.
func TestWhatIsRecalledIsTheSame(t *testing.T) {
	t.Parallel()
	spared := 0
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a made case
		r := newRecalled(random)
		want := r.collect(func(int) bool { return false }, nil)
		share := random.Float64()
		known := make([]bool, len(r.places))
		for i := range known {
			known[i] = random.Float64() < share
		}
		got := r.collect(func(i int) bool { return known[i] }, &spared)
		for _, report := range []string{"divergence", "divergence_summary", "judged_steps", "first_divergence", "origin", "jump", "layers", "unpaired"} {
			a, _ := got.Table(report)
			b, _ := want.Table(report)
			if got, want := cases.TextOf(a).Text(), cases.TextOf(b).Text(); got != want {
				t.Fatalf("case %d: %s, as recalled\n%s\nas judged\n%s", seed, report, got, want)
			}
		}
		if !slices.EqualFunc(got.Summary, want.Summary, func(a, b result.StepSummary) bool { return a.BadAloneCounts == b.BadAloneCounts }) {
			t.Fatalf("case %d: other counts of what stands alone and is not finite", seed)
		}
	}
	if spared == 0 {
		t.Error("no place was recalled")
	}
}

// collect judges all places but those that are known, which it recalls as far as that is enough.
func (r *recalled) collect(isKnown func(i int) bool, spared *int) result.Result {
	collected := result.New(r.options, r.problem, r.bench, r.definitions)
	var known []result.Known
	var at []int
	for i := range r.places {
		if !isKnown(i) {
			collected.Place(r.places[i], slices.Clone(r.judged[i]))
			continue
		}
		step, _ := r.stored(i)
		known, at = append(known, Known(r.places[i], step)), append(at, i)
	}
	again := collected.Again(known)
	for k, i := range at {
		if again[k] {
			collected.Place(r.places[i], slices.Clone(r.judged[i]))
		}
	}
	for k, i := range at {
		if again[k] {
			continue
		}
		*spared++
		var judged []judge.Judged
		if collected.Shows(&known[k]) {
			_, judged = r.stored(i)
		}
		collected.Recall(&known[k], judged)
	}
	return collected.Finish(result.Finishing{})
}

// stored is a place as its rows have it.
func (r *recalled) stored(i int) (*schemas.JudgedStepRow, []judge.Judged) {
	collected := result.New(r.options, r.problem, r.bench, r.definitions)
	placed := collected.Count(r.places[i], slices.Clone(r.judged[i]))
	unit := Unit{At: r.places[i]}
	var judged []judge.Judged
	for k := range placed.Judged() {
		if j := &placed.Judged()[k]; j.IsKept() {
			row := unit.verdict(schemas.Identity{Rank: unit.At.Rank}, j, placed)
			judged = append(judged, Judged(&row))
		}
	}
	slices.Reverse(judged)
	return unit.step(schemas.Identity{}, placed), judged
}

// TestAResultIsOfItsPairOfStepsAndFacts moves a step beside another one of the bench, as requests that land later may, and
// lets the runs go on.
func TestAResultIsOfItsPairOfStepsAndFacts(t *testing.T) {
	t.Parallel()
	unit := Unit{Comparison: 1, Problem: 2, At: pair.Step{Step: 3, BenchStep: 4, ProblemProgram: 5, BenchProgram: 6}, ProblemEpoch: 7, BenchEpoch: 8, Facts: 9}
	stored := func() *schemas.JudgedStepRow {
		collected := result.New(result.DefaultOptions(), &rows.Run{}, &rows.Run{}, rows.NewDefinitions())
		return unit.step(unit.identity(), collected.Count(unit.At, nil))
	}
	if !IsOf(stored(), &unit) {
		t.Error("its own row is another's")
	}
	for name, change := range map[string]func(*Unit){
		"bench step":    func(u *Unit) { u.At.BenchStep++ },
		"bench rank":    func(u *Unit) { u.At.BenchRank++ },
		"program":       func(u *Unit) { u.At.ProblemProgram++ },
		"bench program": func(u *Unit) { u.At.BenchProgram++ },
		"facts":         func(u *Unit) { u.Facts++ },
		"bench epoch":   func(u *Unit) { u.BenchEpoch++ },
		"generation":    func(u *Unit) { u.Generation++ },
	} {
		other := unit
		change(&other)
		if IsOf(stored(), &other) {
			t.Errorf("with another %s the row is taken for the result", name)
		}
	}
	row := stored()
	row.Provisional = 1
	if IsOf(row, &unit) {
		t.Error("a provisional row is taken for the result")
	}
}
