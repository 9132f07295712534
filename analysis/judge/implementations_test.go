package judge

import (
	"math"
	"testing"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

// Sites of both implementations.
const (
	weightSite uint64 = iota + 1
	valueSite
	tableSite
	logitsSite
)

// fewOnes is a tensor of a layout with the statistics of so many ones.
func fewOnes(site, layout, elements, ones uint64) rows.Observation {
	return rows.Observation{
		SiteID: site, LayoutID: layout, ElementCount: elements, Measured: schemas.MeasuredMin | schemas.MeasuredMax | schemas.MeasuredMean | schemas.MeasuredL2,
		Max: 1, Mean: float64(ones) / float64(elements), L2: math.Sqrt(float64(ones)),
	}
}

// twoImplementations are rules for two runs, of which the bench has tables that the problem has not.
func twoImplementations(tb testing.TB, layouts map[uint64]*schemas.LayoutRow) *Rules {
	tb.Helper()
	d := rows.NewDefinitions()
	d.Layouts = layouts
	for site, role := range map[uint64]string{weightSite: "parameter", valueSite: "output", tableSite: "output", logitsSite: "output"} {
		d.Sites[site] = schemas.SiteRow{SiteID: site, OpID: site, Role: role, Path: "0"}
	}
	config := DefaultConfig()
	config.Implementations = &Implementations{Apart: [2]map[uint64]string{{}, {tableSite: "rotary tables"}}, Casts: [2]map[uint64]string{{logitsSite: "casts"}, {}}}
	run := &rows.Run{MainDtype: "torch.bfloat16"}
	rules, err := New(config, run, run, d)
	if err != nil {
		tb.Fatal(err)
	}
	return rules
}

func tensorOf(dtype string, shape ...int64) *schemas.LayoutRow {
	return &schemas.LayoutRow{Kind: kindTensor, Dtype: dtype, Shape: shape}
}

func TestBetweenTwoImplementations(t *testing.T) {
	t.Parallel()
	yes, no := uint8(1), uint8(0)
	trained, served := tensorOf("torch.bfloat16", 4, 8), tensorOf("torch.bfloat16", 4, 8)
	trained.RequiresGrad, served.RequiresGrad = &yes, &no
	for name, c := range map[string]struct {
		site           uint64
		problem, bench *schemas.LayoutRow
		ones           [2]uint64
		class          Class
		reason         string
	}{
		"joined dimensions":                  {valueSite, tensorOf("torch.bfloat16", 32, 8), tensorOf("torch.bfloat16", 256), [2]uint64{9, 9}, Agrees, ""},
		"exchanged dimensions of a weight":   {weightSite, tensorOf("torch.bfloat16", 8, 24), tensorOf("torch.bfloat16", 24, 8), [2]uint64{9, 9}, Agrees, ""},
		"exchanged, and other values":        {weightSite, tensorOf("torch.bfloat16", 8, 24), tensorOf("torch.bfloat16", 24, 8), [2]uint64{9, 16}, Diverged, ""},
		"other shapes of as many elements":   {weightSite, tensorOf("torch.bfloat16", 8, 24), tensorOf("torch.bfloat16", 16, 12), [2]uint64{9, 9}, Structure, ""},
		"widths of whole numbers":            {valueSite, tensorOf("torch.int32", 32), tensorOf("torch.int64", 1, 32), [2]uint64{9, 9}, Agrees, ""},
		"other whole numbers":                {valueSite, tensorOf("torch.int32", 32), tensorOf("torch.int64", 1, 32), [2]uint64{9, 10}, Diverged, ""},
		"requires_grad":                      {valueSite, trained, served, [2]uint64{9, 9}, Agrees, ""},
		"another float":                      {valueSite, tensorOf("torch.float32", 4, 8), tensorOf("torch.float16", 4, 8), [2]uint64{9, 9}, Structure, ""},
		"logits in another float":            {logitsSite, tensorOf("torch.float32", 1, 512), tensorOf("torch.bfloat16", 512), [2]uint64{9, 9}, Agrees, ""},
		"logits of another size":             {logitsSite, tensorOf("torch.float32", 500), tensorOf("torch.bfloat16", 512), [2]uint64{9, 9}, Structure, ""},
		"logits in whole numbers":            {logitsSite, tensorOf("torch.int32", 512), tensorOf("torch.bfloat16", 512), [2]uint64{9, 9}, Structure, ""},
		"a padded vocabulary":                {weightSite, tensorOf("torch.bfloat16", 1024, 8), tensorOf("torch.bfloat16", 1000, 8), [2]uint64{900, 900}, Agrees, ""},
		"a vocabulary padded with something": {weightSite, tensorOf("torch.bfloat16", 1024, 8), tensorOf("torch.bfloat16", 1000, 8), [2]uint64{2000, 900}, Diverged, ""},
		"a weight that was packed away":      {weightSite, tensorOf("torch.bfloat16", 0), tensorOf("torch.bfloat16", 8, 24), [2]uint64{0, 9}, Unknown, "packed weights"},
		"a quantized weight":                 {weightSite, tensorOf("torch.int8", 8, 24), tensorOf("torch.bfloat16", 8, 24), [2]uint64{9, 9}, Unknown, "packed weights"},
		"the last tokens alone":              {valueSite, tensorOf("torch.bfloat16", 1, 8), tensorOf("torch.bfloat16", 32, 8), [2]uint64{3, 9}, Unknown, "other numbers of tokens"},
		"a table of the bench":               {tableSite, tensorOf("torch.bfloat16", 4, 8), tensorOf("torch.bfloat16", 4, 8), [2]uint64{3, 9}, Unknown, "rotary tables"},
		"a tensor beside none":               {valueSite, tensorOf("torch.bfloat16", 4, 8), &schemas.LayoutRow{Kind: "none"}, [2]uint64{3, 0}, Unknown, "arguments of one implementation"},
	} {
		rules := twoImplementations(t, map[uint64]*schemas.LayoutRow{1: c.problem, 2: c.bench})
		p := Pair{
			InProblem: true, InBench: true, Problem: fewOnes(c.site, 1, uint64(product(c.problem.Shape)), c.ones[0]), //nolint:gosec // few elements
			Bench: fewOnes(c.site, 2, uint64(product(c.bench.Shape)), c.ones[1]), //nolint:gosec // few elements
		}
		v := rules.Judge(&p, Setting{CommonStep: true}, nil)
		reason := ""
		if c.reason != "" {
			reason = ReasonNotComparable + c.reason
		}
		if v.Class != c.class || v.Reason != reason || v.NotComparable() != (c.reason != "") || v.NotComparable() && v.Differs {
			t.Errorf("%s: class %d, reason %q, differs %v; want class %d, reason %q", name, v.Class, v.Reason, v.Differs, c.class, reason)
		}
	}
}

func TestAValueWithoutCounterpartIsNotComparableEvenAlone(t *testing.T) {
	t.Parallel()
	rules := twoImplementations(t, map[uint64]*schemas.LayoutRow{1: tensorOf("torch.bfloat16", 4)})
	alone := Pair{InBench: true, Bench: fewOnes(tableSite, 1, 4, 2)}
	if v := rules.Judge(&alone, Setting{CommonStep: true}, nil); !v.NotComparable() || v.Side != SideBench || v.Differs {
		t.Errorf("%+v", v)
	}
	other := Pair{InProblem: true, Problem: fewOnes(tableSite, 1, 4, 2)} // only the bench sets it apart
	if v := rules.Judge(&other, Setting{CommonStep: true}, nil); v.NotComparable() || v.Class != Unpaired {
		t.Errorf("%+v", v)
	}
}
