package judge

import (
	"math"
	"testing"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

func TestRoundoffOfDtypes(t *testing.T) {
	t.Parallel()
	for dtype, want := range map[string]float64{
		"torch.float8_e5m2": 0.125, "torch.float8_e4m3fn": 0.0625, "torch.bfloat16": 1. / 256, "torch.float16": 1. / 2048, "torch.half": 1. / 2048,
		"Float16": 1. / 2048, "torch.float64": 0x1p-53, "torch.double": 0x1p-53, "torch.complex128": 0x1p-53, "torch.float32": 0x1p-24,
		"Float32": 0x1p-24, "torch.complex64": 0x1p-24, "torch.int64": 0, "torch.bool": 0, "": 0,
	} {
		if got := roundoff(dtype); got != want {
			t.Errorf("roundoff(%s) = %v, want %v", dtype, got, want)
		}
	}
}

func TestLayoutsThatCountAsTheSame(t *testing.T) {
	t.Parallel()
	yes, no := uint8(1), uint8(0)
	rules := rulesOf(t, DefaultConfig(), func(_ *rows.Definitions, problem, _ *rows.Run) { problem.MainDtype = "torch.bfloat16" })
	usual := schemas.LayoutRow{Kind: "tensor", Dtype: "torch.float32", Shape: []int64{2, 4}, RequiresGrad: &yes}
	for name, c := range map[string]struct {
		change func(problem, bench *schemas.LayoutRow)
		want   bool
	}{
		"strides, device and placement": {func(p, _ *schemas.LayoutRow) { p.StrideClass, p.DeviceKind, p.Placement = "strided", "npu", "Shard(0)" }, true},
		"kind":                          {func(p, _ *schemas.LayoutRow) { p.Kind = "other" }, false},
		"shape":                         {func(p, _ *schemas.LayoutRow) { p.Shape = []int64{4, 2} }, false},
		"dtype of the run":              {func(p, _ *schemas.LayoutRow) { p.Dtype = "torch.bfloat16" }, true},
		"dtype of the run, swapped":     {func(_, b *schemas.LayoutRow) { b.Dtype = "torch.bfloat16" }, false},
		"another dtype":                 {func(p, _ *schemas.LayoutRow) { p.Dtype = "torch.float16" }, false},
		"requires_grad":                 {func(p, _ *schemas.LayoutRow) { p.RequiresGrad = &no }, false},
		"requires_grad not known":       {func(p, _ *schemas.LayoutRow) { p.RequiresGrad = nil }, true},
		"class of the tensor":           {func(p, _ *schemas.LayoutRow) { p.Literal = "AsyncCollectiveTensor" }, false},
		"literal":                       {func(p, b *schemas.LayoutRow) { p.Kind, b.Kind, p.Literal, b.Literal = "float", "float", "1", "2" }, false},
		"device": {func(p, b *schemas.LayoutRow) {
			p.Kind, b.Kind, p.Literal, b.Literal = "device", "device", "npu:0", "cuda:0"
		}, true},
		"a dtype that is the run's": {func(p, b *schemas.LayoutRow) {
			p.Kind, b.Kind, p.Literal, b.Literal = "dtype", "dtype", "torch.bfloat16", "torch.float32"
		}, true},
		"another dtype as argument": {func(p, b *schemas.LayoutRow) {
			p.Kind, b.Kind, p.Literal, b.Literal = "dtype", "dtype", "torch.float16", "torch.float32"
		}, false},
	} {
		problem, bench := usual, usual
		c.change(&problem, &bench)
		if got := rules.alike(&problem, &bench); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestLayoutsThatAreNotKnown(t *testing.T) {
	t.Parallel()
	rules := rulesOf(t, DefaultConfig(), nil)
	if got := *rules.layoutPair(77, 77); got != (layoutPair{alike: true}) {
		t.Errorf("the same unknown layout: %+v", got)
	}
	if got := *rules.layoutPair(77, float32Layout); got.alike || got.roundoff != roundoffFloat32 || got.benchDtype != "torch.float32" {
		t.Errorf("an unknown layout beside a known one: %+v", got)
	}
	rules.definitions.Layouts[77] = &schemas.LayoutRow{Kind: "tensor", Dtype: "torch.float32", Shape: []int64{2, 4}}
	if got := *rules.layoutPair(77, float32Layout); !got.alike {
		t.Errorf("the layout once it is known: %+v", got)
	}
}

func TestLayoutsThatDetermineTheValue(t *testing.T) {
	t.Parallel()
	rules := rulesOf(t, DefaultConfig(), nil)
	for layout, want := range map[uint64]bool{float32Layout: false, emptyLayout: true, literalLayout: true} {
		if got := rules.layoutPair(layout, layout).sameLiteral; got != want {
			t.Errorf("layout %d: %v, want %v", layout, got, want)
		}
	}
	if rules.layoutPair(literalLayout, otherLiteralLayout).sameLiteral {
		t.Error("two literals count as the same")
	}
	if isLiteral(&schemas.LayoutRow{Kind: "other"}) {
		t.Error("any object counts as a literal")
	}
}

func TestFiniteness(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct {
		problem, bench func(*rows.Observation)
		sort           string
		want           finiteness
	}{
		"finite":                  {nil, nil, "", finiteness{alike: true}},
		"an infinite norm":        {func(o *rows.Observation) { o.L2 = inf }, nil, "", finiteness{alike: true}},
		"NaN of the problem":      {func(o *rows.Observation) { o.Max = nan }, nil, "", finiteness{problem: true}},
		"a mean":                  {func(o *rows.Observation) { o.Mean = nan }, nil, "", finiteness{problem: true, alike: true}},
		"counted":                 {nil, func(o *rows.Observation) { o.NaNCount = 1 }, "", finiteness{bench: true}},
		"counts that wrap":        {func(o *rows.Observation) { o.NaNCount, o.PositiveInfinityCount = math.MaxUint64, 1 }, nil, "", finiteness{}},
		"another infinity":        {func(o *rows.Observation) { o.Max = inf }, func(o *rows.Observation) { o.Max = -inf }, "", finiteness{problem: true, bench: true}},
		"the same infinity":       {func(o *rows.Observation) { o.Max = inf }, func(o *rows.Observation) { o.Max = inf }, "", finiteness{problem: true, bench: true, alike: true}},
		"a mask":                  {func(o *rows.Observation) { o.Min = -inf }, func(o *rows.Observation) { o.Min = -inf }, SortNegativeInfinity, finiteness{problem: true, bench: true, alike: true, mask: true}},
		"infinity beside a mask":  {func(o *rows.Observation) { o.Min, o.Max = -inf, inf }, nil, SortNegativeInfinity, finiteness{problem: true}},
		"NaN beside a mask":       {func(o *rows.Observation) { o.Min = -inf }, func(o *rows.Observation) { o.NaNCount = 1 }, SortNegativeInfinity, finiteness{problem: true, bench: true}},
		"NaN where a mask may be": {func(o *rows.Observation) { o.Min, o.Max = nan, nan }, nil, SortNegativeInfinity, finiteness{problem: true}},
	} {
		problem, bench := tensor(float32Layout, c.problem), tensor(float32Layout, c.bench)
		if got := finitenessOf(&problem, &bench, c.sort); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestScaleOfErrors(t *testing.T) {
	t.Parallel()
	without := func(l2 bool) func(*rows.Observation) {
		return func(o *rows.Observation) {
			o.Min, o.Max, o.L2 = -3, 1, 5
			if l2 {
				o.Measured &^= schemas.MeasuredL2
			}
		}
	}
	for _, c := range []struct {
		problemHasNone, benchHasNone, marked bool
		want                                 float64
	}{
		{false, false, false, 5},
		{true, false, false, 3},
		{false, true, false, 3},
		{true, false, true, 5},
		{false, true, true, 5},
		{true, true, true, 3},
	} {
		problem, bench := tensor(float32Layout, without(c.problemHasNone)), tensor(float32Layout, without(c.benchHasNone))
		if got := scaleOf(&problem, &bench, c.marked); got != c.want {
			t.Errorf("%+v: %v, want %v", c, got, c.want)
		}
	}
	overflown := tensor(float32Layout, func(o *rows.Observation) { o.L2, o.Min = math.Inf(1), math.NaN() })
	if got := scaleOf(&overflown, &overflown, false); got != 1 {
		t.Errorf("of an infinite norm: %v, want the greatest value", got)
	}
}

func TestErrorsByStatistics(t *testing.T) {
	t.Parallel()
	inf, rounding := math.Inf(1), 0x1p-8*(1+math.Log2(9))
	for name, c := range map[string]struct {
		problem, bench func(*rows.Observation)
		error, low     float64
	}{
		"nothing differs":        {nil, nil, 0, 0},
		"a maximum":              {func(o *rows.Observation) { o.Max = 2 }, nil, 0.5, 0.5},
		"a minimum":              {func(o *rows.Observation) { o.Min = -2 }, nil, 0.5, 0.5},
		"a mean":                 {func(o *rows.Observation) { o.Mean = 1 }, nil, math.Sqrt(8) / 2, math.Sqrt(8)/2 - rounding},
		"a norm":                 {func(o *rows.Observation) { o.L2 = 3 }, nil, 0.5, 0.5 - rounding},
		"a norm within rounding": {func(o *rows.Observation) { o.L2 = 2.01 }, nil, 0.01 / 2, 0},
		"an infinite norm":       {func(o *rows.Observation) { o.L2 = inf }, nil, inf, inf},
		"two infinite norms":     {func(o *rows.Observation) { o.L2 = inf }, func(o *rows.Observation) { o.L2 = inf }, 0, 0},
		"an infinite maximum":    {func(o *rows.Observation) { o.Max = inf }, nil, 0, 0},
		"not measured there":     {func(o *rows.Observation) { o.Max = 9 }, func(o *rows.Observation) { o.Measured &^= schemas.MeasuredMax }, 0, 0},
		"something against zero": {nil, func(o *rows.Observation) { o.Min, o.Max, o.L2 = 0, 0, 0 }, inf, inf},
	} {
		problem, bench := tensor(bfloat16Layout, c.problem), tensor(bfloat16Layout, c.bench)
		got := statisticsOf(&problem, &bench, wholeStatistics, scaleOf(&problem, &bench, false), 0x1p-8)
		if got.none || !sameNumber(got.error, c.error) && math.Abs(got.error-c.error) > 1e-12 || !sameNumber(got.low, c.low) {
			t.Errorf("%s: %+v, want error %v, low %v", name, got, c.error, c.low)
		}
	}
}

func TestStatisticsThatSayNothing(t *testing.T) {
	t.Parallel()
	onlyMean := tensor(float32Layout, func(o *rows.Observation) { o.Measured = schemas.MeasuredMean })
	if got := statisticsOf(&onlyMean, &onlyMean, wholeStatistics, 1, 0); !got.none || !math.IsNaN(got.error) || !math.IsNaN(got.low) {
		t.Errorf("a mean alone: %+v, want nothing", got)
	}
	if got := statisticsOf(&onlyMean, &onlyMean, boundingStatistics, 1, 0); got.none {
		t.Errorf("a mean of merged ranks: %+v, want something", got)
	}
}

func TestErrorsBySketch(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		problem, bench []float32
		scale, want    float64
		both           bool
	}{
		"none":            {nil, nil, 1, math.NaN(), false},
		"of one side":     {[]float32{1}, nil, 1, math.NaN(), false},
		"of other sizes":  {[]float32{1, 2}, []float32{1}, 1, math.NaN(), false},
		"the same":        {[]float32{1, 2}, []float32{1, 2}, 0, 0, true},
		"of zero":         {[]float32{1, 2}, []float32{0, 0}, 0, math.Inf(1), true},
		"different":       {[]float32{1, 5, 3, 0}, []float32{1, 2, 3, 4}, 10, 0.5, true},
		"with NaN":        {[]float32{float32(math.NaN()), 2}, []float32{1, 2}, 10, math.NaN(), true},
		"float32 is kept": {[]float32{1.0000001, 0}, []float32{1, 0}, 1, 0x1p-23, true},
	} {
		got := sketchOf(c.problem, c.bench, c.scale)
		if got.both != c.both || !sameNumber(got.error, c.want) {
			t.Errorf("%s: %+v, want %v", name, got, c.want)
		}
		if got.error > 0 && (got.low > got.error || got.high < got.error) {
			t.Errorf("%s: the interval %v to %v does not hold %v", name, got.low, got.high, got.error)
		}
	}
}

func TestDigests(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		problemKind, benchKind uint8
		problem, bench         uint64
		want                   digest
		proves                 bool
	}{
		{schemas.DigestNone, schemas.DigestNone, 1, 1, digest{}, false},
		{schemas.DigestTap, schemas.DigestXOR, 1, 1, digest{}, false},
		{schemas.DigestTap, schemas.DigestTap, 1, 1, digest{kind: schemas.DigestTap, same: true}, true},
		{schemas.DigestTap, schemas.DigestTap, 1, 2, digest{kind: schemas.DigestTap, differs: true}, false},
		{schemas.DigestCRC32, schemas.DigestCRC32, 1, 1, digest{kind: schemas.DigestCRC32, same: true}, false},
		{schemas.DigestXOR, schemas.DigestXOR, 1, 1, digest{kind: schemas.DigestXOR, same: true}, false},
	} {
		got := digestOf(&rows.Observation{DigestKind: c.problemKind, Digest: c.problem}, &rows.Observation{DigestKind: c.benchKind, Digest: c.bench})
		if got != c.want || got.proves() != c.proves {
			t.Errorf("%+v: %+v, proves %v", c, got, got.proves())
		}
	}
}

func TestRawTensorsDecide(t *testing.T) {
	t.Parallel()
	rules := rulesOf(t, Config{Tolerance: 0.1}, nil)
	pair := paired(tensor(float32Layout, func(o *rows.Observation) { o.Max = 5 }), tensor(float32Layout, nil))
	for name, c := range map[string]struct {
		payload  *Payload
		class    Class
		evidence Evidence
		error    float64
	}{
		"the same bits":     {&Payload{SameBits: true}, Equal, EvidencePayload, 0},
		"within":            {&Payload{Error: 0.1}, Within, EvidencePayload, 0.1},
		"beyond":            {&Payload{Error: 0.11}, Diverged, EvidencePayload, 0.11},
		"could not be told": {&Payload{Error: math.NaN()}, Diverged, EvidenceStatistics, 2},
		"not compared":      {nil, Diverged, EvidenceStatistics, 2},
	} {
		got := rules.Judge(pair, Setting{}, c.payload)
		if got.Class != c.class || got.Evidence != c.evidence || got.Error != c.error {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestTensorsWithoutAPartner(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		inProblem bool
		at        Setting
		class     Class
		reason    string
	}{
		{true, Setting{CommonStep: true}, Unpaired, ReasonOnlyProblem},
		{false, Setting{CommonStep: true}, Unpaired, ReasonOnlyBench},
		{true, Setting{}, Unknown, ReasonNoStepInBench},
		{false, Setting{}, Unknown, ReasonNoStepInProblem},
		{true, Setting{BenchIncomplete: true, CommonStep: true}, Unknown, ReasonBenchIncomplete},
		{false, Setting{ProblemIncomplete: true}, Unknown, ReasonProblemIncomplete},
		{true, Setting{ProblemIncomplete: true, CommonStep: true}, Unpaired, ReasonOnlyProblem},
	} {
		got := rulesOf(t, DefaultConfig(), nil).Judge(&Pair{InProblem: c.inProblem, InBench: !c.inProblem}, c.at, nil)
		if got.Class != c.class || got.Reason != c.reason || got.Differs || got.Evidence != EvidenceNone || !math.IsNaN(got.Error) || !math.IsNaN(got.Tolerance) {
			t.Errorf("%+v: %+v", c, got)
		}
		if want := map[bool]Side{true: SideProblem, false: SideBench}[c.inProblem]; got.Side != want {
			t.Errorf("%+v: side %s", c, got.Side)
		}
	}
}

func TestRoundingOfStatisticsIsThatOfTheirSource(t *testing.T) {
	t.Parallel()
	pair := paired(
		tensor(bfloat16Layout, func(o *rows.Observation) { o.ElementCount, o.L2 = 1<<20, 2.098 }),
		tensor(bfloat16Layout, func(o *rows.Observation) { o.ElementCount = 1 << 20 }))
	for _, c := range []struct {
		problem, bench string
		want           Class
	}{
		{schemas.SourceMsprobe, schemas.SourceMsprobe, Agrees},
		{schemas.SourceCollector, schemas.SourceCollector, Diverged},
		{schemas.SourceSGLangDumper, schemas.SourceSGLangDumper, Diverged},
		{schemas.SourceMsprobe, schemas.SourceCollector, Agrees},
		{schemas.SourceCollector, schemas.SourceMsprobe, Agrees},
		{"", schemas.SourceCollector, Agrees},
	} {
		rules := rulesOf(t, DefaultConfig(), func(d *rows.Definitions, problem, bench *rows.Run) {
			problem.Described.Source, bench.Described.Source = c.problem, c.bench
			pair.Problem.SiteID = placeOp(d, &schemas.OpRow{Name: "of the first layer"}, 0)
		})
		got := rules.Judge(pair, Setting{}, nil)
		if got.Class != c.want || math.Abs(got.Error-0.049) > 1e-12 {
			t.Errorf("4.9 %% in bfloat16, by %q against %q: %+v, want %s", c.problem, c.bench, got, c.want)
		}
		if got.Class == Diverged && (got.ErrorLow > got.Error || got.ErrorLow < 0.0489) {
			t.Errorf("by %q against %q the error is at least %v, want nearly all of %v", c.problem, c.bench, got.ErrorLow, got.Error)
		}
	}
}

func TestStatisticsThatMsprobeNeverReportsAreNotMissed(t *testing.T) {
	t.Parallel()
	const extremes = schemas.MeasuredMin | schemas.MeasuredMax
	for name, c := range map[string]struct {
		bench    string
		layout   uint64
		measured uint32
		most     float64
		differs  bool
		want     Class
	}{
		"whole numbers":          {schemas.SourceMsprobe, int64Layout, extremes, 1, false, Agrees},
		"other whole numbers":    {schemas.SourceMsprobe, int64Layout, extremes, 3, true, Diverged},
		"nothing of them":        {schemas.SourceMsprobe, int64Layout, 0, 1, true, Unknown},
		"not in its form":        {schemas.SourceCollector, int64Layout, extremes, 1, true, Unknown},
		"of a dtype that it can": {schemas.SourceMsprobe, float32Layout, extremes, 1, true, Unknown},
	} {
		rules := rulesOf(t, DefaultConfig(), func(_ *rows.Definitions, problem, bench *rows.Run) {
			problem.Described.Source, bench.Described.Source = schemas.SourceCollector, c.bench
		})
		got := rules.Judge(paired(tensor(c.layout, nil), tensor(c.layout, func(o *rows.Observation) {
			o.Measured, o.Max = c.measured, c.most
		})), Setting{}, nil)
		if got.Class != c.want || got.Differs != c.differs {
			t.Errorf("%s: %+v, want %s, differs %v", name, got, c.want, c.differs)
		}
	}
}

func TestSumsRoundInThePrecisionOfTheirSource(t *testing.T) {
	t.Parallel()
	const half, single, double = 0x1p-8, 0x1p-24, 0x1p-53
	for _, c := range []struct {
		source    string
		own, want float64
	}{
		{schemas.SourceMsprobe, half, half},
		{schemas.SourceMsprobe, single, single},
		{schemas.SourceCollector, half, single},
		{schemas.SourceCollector, single, single},
		{schemas.SourceCollector, double, double},
		{schemas.SourceCollector, 0, 0},
		{schemas.SourceSGLangDumper, half, double},
		{"another", half, half},
	} {
		if got := sumRoundoff(c.source, c.own); got != c.want {
			t.Errorf("sumRoundoff(%q, %v) = %v, want %v", c.source, c.own, got, c.want)
		}
	}
}

func TestARunDoesNotDifferFromASetThatHoldsItsTwin(t *testing.T) {
	t.Parallel()
	base := tensor(float32Layout, func(o *rows.Observation) { o.Sketch = []float32{1, 2, -1, 0} })
	for name, twin := range map[string]rows.Observation{
		"by statistics": tensor(float32Layout, func(o *rows.Observation) { o.Max = 1.2 }),
		"by sketch":     tensor(float32Layout, func(o *rows.Observation) { o.Sketch = []float32{1.5, 2, -1, 0} }),
	} {
		for others := 2; others <= 40; others++ {
			spread := NewSpread()
			for run := range others - 1 {
				spread.Add(&base, &base, uint64(run))
			}
			spread.Add(&base, &twin, uint64(others))
			rules := rulesOf(t, Config{Tolerance: -1, Spread: spread.Bands()}, nil)
			if got := rules.Judge(paired(twin, base), Setting{}, nil); got.Differs {
				t.Errorf("%s, %d other benches: %+v, want no difference", name, others, got)
			}
		}
	}
}
