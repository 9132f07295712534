package judge

import (
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

const (
	float32Layout uint64 = iota + 1
	bfloat16Layout
	int64Layout
	emptyLayout
	literalLayout
	otherLiteralLayout
)

const program = 9

// rulesOf are the rules of two runs of one program in float32, with a few layouts and the definitions of a
// test.
func rulesOf(tb testing.TB, cfg Config, change func(*rows.Definitions, *rows.Run, *rows.Run)) *Rules {
	tb.Helper()
	d := rows.NewDefinitions()
	layout := func(id uint64, kind, dtype, literal string, shape ...int64) {
		d.Layouts[id] = &schemas.LayoutRow{LayoutID: id, Kind: kind, Dtype: dtype, Literal: literal, Shape: shape}
	}
	layout(float32Layout, "tensor", "torch.float32", "", 2, 4)
	layout(bfloat16Layout, "tensor", "torch.bfloat16", "", 2, 4)
	layout(int64Layout, "tensor", "torch.int64", "", 2, 4)
	layout(emptyLayout, "tensor", "torch.float32", "", 0, 4)
	layout(literalLayout, "float", "", "0.1")
	layout(otherLiteralLayout, "float", "", "0.2")
	problem, bench := &rows.Run{MainDtype: "torch.float32"}, &rows.Run{MainDtype: "torch.float32"}
	for _, run := range []*rows.Run{problem, bench} {
		run.Steps = []schemas.StepRow{{ProgramID: program}}
	}
	if change != nil {
		change(d, problem, bench)
	}
	rules, err := New(cfg, problem, bench, d)
	if err != nil {
		tb.Fatal(err)
	}
	return rules
}

// placeOp defines an op of the program, and its first output.
func placeOp(d *rows.Definitions, op *schemas.OpRow, parent uint64) (siteID uint64) {
	op.OpID = schemas.OpID(op.Name)
	d.Ops[op.OpID] = op
	d.Programs[program] = append(d.Programs[program], schemas.ProgramRow{ProgramID: program, OpID: op.OpID, ParentOpID: parent})
	siteID = schemas.SiteID(op.OpID, "output", "0")
	d.Sites[siteID] = schemas.SiteRow{SiteID: siteID, OpID: op.OpID, Role: "output", Path: "0"}
	return siteID
}

func tensor(layout uint64, change func(*rows.Observation)) rows.Observation {
	o := rows.Observation{LayoutID: layout, Measured: boundingStatistics, ElementCount: 8, Min: -1, Max: 1, L2: 2}
	if change != nil {
		change(&o)
	}
	return o
}

func paired(problem, bench rows.Observation) *Pair {
	return &Pair{InProblem: true, InBench: true, Problem: problem, Bench: bench}
}

func TestAnExceptionThatCannotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	for _, broken := range []Exception{{API: "(", Sort: SortCast}, {Path: "a[", Sort: SortCast}} {
		_, err := New(Config{Exceptions: []Exception{broken}}, &rows.Run{}, &rows.Run{}, rows.NewDefinitions())
		var malformed *MalformedExceptionError
		if !errors.As(err, &malformed) || malformed.Exception != broken || !strings.Contains(err.Error(), broken.API+broken.Path) {
			t.Errorf("New with %+v: %v, want an error that names it", broken, err)
		}
	}
}

func TestExcusedSitesAreThoseOfTheDatabase(t *testing.T) {
	t.Parallel()
	const folder = shared + "/excused_sites"
	for _, name := range cases(t, folder) {
		s := readScenario(t, folder, name)
		d := s.definitions(t)
		rules, err := New(s.config(t, d, &side{}), &rows.Run{}, &rows.Run{}, d)
		if err != nil {
			t.Fatal(err)
		}
		want := map[uint64][]string{}
		for _, row := range s.tables["want"] {
			site := whole[uint64](row, "site_id")
			want[site] = append(want[site], row["sort"])
		}
		for site := range d.Sites {
			if got := slices.Sorted(slices.Values(rules.Excused(site))); !slices.Equal(got, want[site]) {
				t.Errorf("case %s: Excused(%d) = %q, want %q", name, site, got, want[site])
			}
		}
	}
}

func TestTheFirstExceptionThatFitsCounts(t *testing.T) {
	t.Parallel()
	var empty, mine, plain uint64
	own := []Exception{{API: "^empty$", Sort: SortCast}, {API: "^my.op$", Role: "output", Sort: SortIdentifier}, {API: "^my", Sort: SortNegativeInfinity}}
	rules := rulesOf(t, Config{Exceptions: own}, func(d *rows.Definitions, _, _ *rows.Run) {
		empty = placeOp(d, &schemas.OpRow{Name: "Torch.empty.0.forward", ClassOrAPI: "empty"}, 0)
		mine = placeOp(d, &schemas.OpRow{Name: "mine", ClassOrAPI: "my\nop"}, 0)
		plain = placeOp(d, &schemas.OpRow{Name: "plain", ClassOrAPI: "linear"}, 0)
	})
	for site, want := range map[uint64]string{empty: SortUninitialised, mine: SortIdentifier, plain: ""} {
		if got := rules.site(site).sort; got != want {
			t.Errorf("site(%d).sort = %q, want %q", site, got, want)
		}
	}
	if got := rules.Excused(mine); !slices.Equal(got, []string{SortIdentifier, SortNegativeInfinity}) {
		t.Errorf("Excused = %q", got)
	}
}

func TestCastsAreExcusedBetweenRunsOfDifferentDtypesOnly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ problem, bench, want string }{
		{"torch.float32", "torch.float32", ""},
		{"torch.bfloat16", "torch.float32", SortCast},
		{"", "torch.float32", ""},
	} {
		rules := rulesOf(t, DefaultConfig(), func(_ *rows.Definitions, problem, bench *rows.Run) {
			problem.MainDtype, bench.MainDtype = c.problem, c.bench
		})
		if got := rules.sortHere(SortCast); got != c.want {
			t.Errorf("runs of %q and %q: %q, want %q", c.problem, c.bench, got, c.want)
		}
		if got := rules.sortHere(SortUninitialised); got != SortUninitialised {
			t.Errorf("sortHere(uninitialised) = %q", got)
		}
	}
}

func TestRulesOfASiteFollowItsDefinition(t *testing.T) {
	t.Parallel()
	definitions := rows.NewDefinitions()
	op := &schemas.OpRow{Name: "Torch.a.0.forward", LayerIndex: 3}
	site := placeOp(definitions, op, 0)
	row := definitions.Sites[site]
	delete(definitions.Sites, site)
	run := &rows.Run{Steps: []schemas.StepRow{{ProgramID: program}}}
	rules, err := New(DefaultConfig(), run, run, definitions)
	if err != nil {
		t.Fatal(err)
	}
	if got := rules.site(site).depth; got != usualLayers {
		t.Errorf("depth of a site that is not known: %d, want %d", got, usualLayers)
	}
	definitions.Sites[site] = row
	for range 3 {
		if got := rules.site(site).depth; got != 4 {
			t.Errorf("depth of a site that is known: %d, want 4", got)
		}
	}
}

func TestOpsOfNoProgramHaveNoRules(t *testing.T) {
	t.Parallel()
	var site uint64
	rules := rulesOf(t, DefaultConfig(), func(d *rows.Definitions, problem, bench *rows.Run) {
		site = placeOp(d, &schemas.OpRow{Name: "Torch.empty.0.forward", ClassOrAPI: "empty", LayerIndex: 2}, 0)
		problem.Steps, bench.Steps = nil, nil
	})
	if got := rules.site(site); got.depth != usualLayers || got.sort != "" {
		t.Errorf("site = %+v, want the usual depth and no exception", got)
	}
	if got := rules.Excused(site); !slices.Equal(got, []string{SortUninitialised}) {
		t.Errorf("Excused = %q, want it all the same", got)
	}
}

func TestDepthIsTheNumberOfLayersBehind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		layer, layers int32
		phase         string
		want          int32
	}{
		{-1, 12, "forward", 12},
		{-1, 12, "backward", 12},
		{0, 12, "forward", 1},
		{11, 12, "forward", 12},
		{11, 12, "backward", 13},
		{0, 12, "gradient", 24},
		{0, 12, "optimizer", 24},
		{3, 12, "recompute", 4},
	} {
		if got := depth(c.layer, c.layers, c.phase); got != c.want {
			t.Errorf("depth(%d, %d, %s) = %d, want %d", c.layer, c.layers, c.phase, got, c.want)
		}
	}
}

func TestOpsWithoutALayerTakeThatOfTheModuleThatCallsThem(t *testing.T) {
	t.Parallel()
	var site uint64
	cfg := Config{Tolerance: -1, Rules: []ToleranceRule{{Op: "layers.5*", Dtype: "*", Tolerance: 0.5}, {Op: "Torch.*", Dtype: "none", Tolerance: 0.1}}}
	rules := rulesOf(t, cfg, func(d *rows.Definitions, _, _ *rows.Run) {
		placeOp(d, &schemas.OpRow{Name: "Module.layers.5", ModulePath: "layers.5.mlp", LayerIndex: 5}, 0)
		site = placeOp(d, &schemas.OpRow{Name: "Torch.a.0.forward", LayerIndex: -1}, schemas.OpID("Module.layers.5"))
	})
	got := rules.site(site)
	if got.depth != 6 || rules.layers != 6 || len(got.tolerances) != 2 {
		t.Errorf("site = %+v of %d layers, want depth 6 and both rules", got, rules.layers)
	}
}

func TestProgramsWithoutLayersHaveTheUsualNumber(t *testing.T) {
	t.Parallel()
	rules := rulesOf(t, DefaultConfig(), func(d *rows.Definitions, _, _ *rows.Run) {
		placeOp(d, &schemas.OpRow{Name: "a", LayerIndex: -1}, 0)
	})
	if rules.layers != usualLayers {
		t.Errorf("%d layers, want %d", rules.layers, usualLayers)
	}
}

func TestRulesAreForSeveralGoroutines(t *testing.T) {
	t.Parallel()
	var sites []uint64
	rules := rulesOf(t, DefaultConfig(), func(d *rows.Definitions, _, _ *rows.Run) {
		for i := range 100 {
			sites = append(sites, placeOp(d, &schemas.OpRow{Name: strings.Repeat("a", i+1), ClassOrAPI: "linear"}, 0))
		}
	})
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for i := range 1000 {
				p := paired(tensor(float32Layout, nil), tensor(float32Layout, nil))
				p.Problem.SiteID = sites[i%len(sites)]
				if got := rules.Judge(p, Setting{}, nil); got.Class != Agrees {
					t.Errorf("Judge = %+v, want it to agree", got)
				}
			}
		})
	}
	group.Wait()
}

func TestTolerance(t *testing.T) {
	t.Parallel()
	const u32, u16, bench = 5.960464477539063e-8, 0.00390625, 7
	rules := []toleranceRule{{dtype: newPattern("*bfloat16"), tolerance: 0.25}, {dtype: newPattern("*16"), tolerance: 0.5}}
	for name, c := range map[string]struct {
		global float64
		main   string
		band   Band
		rules  []toleranceRule
		layout uint64
		want   float64
	}{
		"whole numbers":                     {-1, "torch.float32", Band{Runs: 3, Mean: 1}, rules, int64Layout, 0},
		"by dtype and depth":                {-1, "torch.float32", Band{}, nil, float32Layout, 16 * u32 * 2},
		"of 16 bits":                        {-1, "torch.float32", Band{}, nil, bfloat16Layout, 4 * u16 * 2},
		"from tensors of 16 bits":           {-1, "torch.bfloat16", Band{}, nil, float32Layout, 4 * u16 * 2},
		"one number":                        {0, "torch.float32", Band{}, nil, float32Layout, 0},
		"a rule that fits":                  {0.1, "torch.float32", Band{}, rules, bfloat16Layout, 0.25},
		"no rule that fits":                 {0.1, "torch.float32", Band{}, rules, float32Layout, 0.1},
		"two benches":                       {-1, "torch.float32", Band{Runs: 2, Mean: 1}, nil, float32Layout, 16 * u32 * 2},
		"three benches":                     {0.1, "torch.float32", Band{Runs: 3, Mean: 1, Deviation: 0.5}, rules, bfloat16Layout, 2.5},
		"three benches, no spread":          {-1, "torch.float32", Band{Runs: 3}, rules, bfloat16Layout, 4 * u16 * 2},
		"three benches, less than by dtype": {1e-9, "torch.float32", Band{Runs: 3, Mean: u32}, rules, float32Layout, 16 * u32 * 2},
	} {
		r := rulesOf(t, Config{Tolerance: c.global, Spread: map[uint64]Band{bench: c.band}}, func(_ *rows.Definitions, problem, _ *rows.Run) { problem.MainDtype = c.main })
		site := &siteRule{depth: 4, tolerances: c.rules}
		if got := r.tolerated(bench, site, r.layoutPair(c.layout, c.layout)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestACalibrationWidensWhatFollowsFromTheDtypeAlone(t *testing.T) {
	t.Parallel()
	const usual = 4 * 0.00390625 * 2
	for name, c := range map[string]struct {
		calibrated, tolerance, want float64
		layout                      uint64
	}{
		"more":             {0.5, -1, 0.5, bfloat16Layout},
		"less":             {0.001, -1, usual, bfloat16Layout},
		"beside a number":  {0.5, 0.1, 0.1, bfloat16Layout},
		"of whole numbers": {0.5, -1, 0, int64Layout},
	} {
		r := rulesOf(t, Config{Tolerance: c.tolerance, Calibrated: map[uint64]float64{7: c.calibrated}}, func(_ *rows.Definitions, problem, _ *rows.Run) { problem.MainDtype = "torch.bfloat16" })
		if got := r.tolerated(7, &siteRule{depth: 4}, r.layoutPair(c.layout, c.layout)); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"", "a", false},
		{"*", "", true},
		{"*", "a\nb", true},
		{"a", "a", true},
		{"a", "A", false},
		{"a*", "abc", true},
		{"*c", "abc", true},
		{"a*c", "ac", true},
		{"a*c", "abcd", false},
		{"ab*bc", "abc", false},
		{"*b*", "abc", true},
		{"*b*b*", "abc", false},
		{"a*b*c", "a-b-b-c", true},
		{"a_c", "abc", false},
		{"a%", "abc", false},
		{`a\*`, `a\b`, true},
		{"a.*", "ab", false},
	} {
		if got := newPattern(c.pattern).fits(c.text); got != c.want {
			t.Errorf("pattern %q of %q: %v, want %v", c.pattern, c.text, got, c.want)
		}
	}
}

func TestCachesGiveTheFirstValueOfAKey(t *testing.T) {
	t.Parallel()
	var c cache[int, string]
	if c.get(1) != nil {
		t.Error("an empty cache has a value")
	}
	first := c.put(1, "a")
	for range 3 {
		if got := c.get(1); got != first || c.put(1, "b") != first {
			t.Errorf("get = %v, want what was put first", got)
		}
	}
	if c.get(2) != nil || *c.put(2, "c") != "c" || *c.get(2) != "c" {
		t.Error("a key put after others were settled is not found")
	}
}

func TestBandsOfBenches(t *testing.T) {
	t.Parallel()
	base := tensor(float32Layout, func(o *rows.Observation) { o.SiteID, o.Max = 5, 1 })
	other := func(change func(*rows.Observation)) *rows.Observation {
		o := base
		change(&o)
		return &o
	}
	s := NewSpread()
	s.Add(&base, other(func(o *rows.Observation) { o.Max = 1.02 }), 2)
	s.Add(&base, other(func(o *rows.Observation) { o.Mean = 0.01 / math.Sqrt(8) }), 3)
	s.Add(&base, other(func(o *rows.Observation) { o.Measured = 0; o.Max = 7 }), 4)
	s.Add(&base, other(func(o *rows.Observation) { o.Max = math.Inf(1) }), 5)
	s.Add(&base, other(func(o *rows.Observation) { o.Mean = math.NaN(); o.L2 = 2.02 }), 3)
	band := s.Bands()[5]
	mean := (0.01 + 0.005 + 0.01) / 3
	deviation := math.Sqrt((2*(0.01-mean)*(0.01-mean) + (0.005-mean)*(0.005-mean)) / 2)
	if band.Runs != 3 || math.Abs(band.Mean-mean) > 1e-15 || math.Abs(band.Deviation-deviation) > 1e-15 {
		t.Errorf("Bands = %+v, want 3 runs, mean %v, deviation %v", band, mean, deviation)
	}
	if got := (Band{Runs: 3, Mean: 1, Deviation: 2}); got.tolerated() != 7 || got.zScore(5) != 2 {
		t.Errorf("tolerated %v, z score %v, want 7 and 2", got.tolerated(), got.zScore(5))
	}
	if z := (Band{Runs: 2}).zScore(1); !math.IsNaN(z) {
		t.Errorf("z score %v of two benches, want NaN", z)
	}
}
