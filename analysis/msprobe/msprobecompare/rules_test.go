package msprobecompare

import (
	"math"
	"testing"

	"github.com/tensortap/tensortap/analysis/msprobe/internal/arguments"
)

// tensor is an argument whose four statistics are these.
func tensor(most, least, mean, norm float64) arguments.Argument {
	a := arguments.Argument{Named: &arguments.Named{}, IsTensor: true, Dtype: "torch.float32"}
	for i, v := range []float64{most, least, mean, norm} {
		a.Statistics[i] = Number{Value: v, Known: true}
	}
	return a
}

func TestErrorsOfStatisticsAreMsprobes(t *testing.T) {
	t.Parallel()
	known := func(v float64) Number { return Number{Value: v, Known: true} }
	nan, inf := math.NaN(), math.Inf(1)
	for name, c := range map[string]struct{ problem, bench, difference, relative Number }{
		"the same":               {known(2), known(2), known(0), known(0)},
		"NaN on both sides":      {known(nan), known(nan), known(0), known(0)},
		"nothing on both sides":  {Number{}, Number{}, known(0), known(0)},
		"a half more":            {known(3), known(2), known(1), known(0.5)},
		"against zero":           {known(3), known(0), known(3), known(inf)},
		"zeros of two signs":     {known(0), known(math.Copysign(0, -1)), known(0), known(inf)},
		"an infinity":            {known(inf), known(2), known(inf), known(inf)},
		"nothing against a zero": {Number{}, known(0), Number{}, known(inf)},
		"nothing against two":    {Number{}, known(2), Number{}, Number{}},
		"two against nothing":    {known(2), Number{}, Number{}, Number{}},
	} {
		problem, bench := arguments.Argument{IsTensor: true}, arguments.Argument{IsTensor: true}
		problem.Statistics[Norm], bench.Statistics[Norm] = c.problem, c.bench
		difference, relative := errorOf(&problem, &bench, Norm)
		if !sameNumber(difference, c.difference) || !sameNumber(relative, c.relative) {
			t.Errorf("%s: %v and %v, want %v and %v", name, difference, relative, c.difference, c.relative)
		}
	}
}

func sameNumber(a, b Number) bool {
	return a.Known == b.Known && (!a.Known || a.Value == b.Value || math.IsNaN(a.Value) && math.IsNaN(b.Value))
}

func TestDtypesOfAnotherSortHaveNoPartner(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		problem, bench string
		same           bool
	}{
		{"torch.int64", "torch.int64", true},
		{"torch.float32", "torch.bfloat16", true},
		{"Float32", "BFloat16", true},
		{"torch.float32", "Float32", false},
		{"torch.float32", "torch.int64", false},
		{"torch.float8_e4m3fn", "torch.float32", false},
	} {
		if got := sameSort(c.problem, c.bench); got != c.same {
			t.Errorf("%s and %s: %t, want %t", c.problem, c.bench, got, c.same)
		}
	}
}

// scene is an op of one input and one output on both sides.
type scene struct {
	op              string
	inputs, outputs [2]arguments.Argument // problem and bench
}

// results are those of the input and of the output.
func (s scene) results(mode Mode) [2]Result {
	var rows [2]Row
	of := newCall(s.op)
	for i, sides := range [][2]arguments.Argument{s.inputs, s.outputs} {
		r := &rows[i]
		r.Op, r.Seq, r.Paired, r.Problem, r.Bench = s.op, uint64(i), true, sideOf(&sides[0]), sideOf(&sides[1])
		r.Problem.Name = s.op + []string{".input.0", ".output.0"}[i]
		for k := range StatisticCount {
			r.Differences[k], r.RelativeErrors[k] = errorOf(&sides[0], &sides[1], k)
		}
		of.add(r)
	}
	var results [2]Result
	for i := range rows {
		results[i], _ = resultOf(of.judge(mode, &rows[i]))
	}
	return results
}

func TestRulesSayWhatMsprobeSays(t *testing.T) {
	t.Parallel()
	const linear = "Functional.linear.0.forward"
	one := tensor(1, -1, 0, 2)
	notFinite := tensor(math.NaN(), -1, 0, 2)
	norm := func(v float64) arguments.Argument { return tensor(1, -1, 0, v) }
	like := func(change func(*arguments.Argument)) arguments.Argument { a := one; change(&a); return a }
	same := [2]arguments.Argument{one, one}
	word := func(value string) arguments.Argument {
		return arguments.Argument{Named: &arguments.Named{}, Dtype: "<class 'str'>", Shape: "[]", Value: value}
	}
	for name, c := range map[string]struct {
		scene scene
		mode  Mode
		want  [2]Result
	}{
		"the same":                     {scene{linear, same, same}, Statistics, [2]Result{Pass, Pass}},
		"NaN in the problem":           {scene{linear, same, [2]arguments.Argument{notFinite, one}}, Statistics, [2]Result{Pass, Error}},
		"NaN in the bench":             {scene{linear, same, [2]arguments.Argument{one, notFinite}}, Statistics, [2]Result{Pass, Pass}},
		"an output that is far off":    {scene{linear, same, [2]arguments.Argument{norm(4), norm(2)}}, Statistics, [2]Result{Pass, Error}},
		"one that is a bit off":        {scene{linear, same, [2]arguments.Argument{norm(2.4), norm(2)}}, Statistics, [2]Result{Pass, Warning}},
		"after an input as far off":    {scene{linear, [2]arguments.Argument{norm(4), norm(2)}, [2]arguments.Argument{norm(4), norm(2)}}, Statistics, [2]Result{Pass, Pass}},
		"another shape":                {scene{linear, same, [2]arguments.Argument{like(func(a *arguments.Argument) { a.Shape = "[2]" }), one}}, Statistics, [2]Result{Pass, Error}},
		"another dtype":                {scene{linear, [2]arguments.Argument{like(func(a *arguments.Argument) { a.Dtype = "torch.float16" }), one}, same}, Statistics, [2]Result{Error, Pass}},
		"another requires_grad":        {scene{linear, [2]arguments.Argument{like(func(a *arguments.Argument) { a.Grad = "True" }), one}, same}, Statistics, [2]Result{Error, Pass}},
		"another scalar":               {scene{linear, [2]arguments.Argument{word("mean"), word("sum")}, same}, Statistics, [2]Result{Error, Pass}},
		"in an API that nobody judges": {scene{"Torch.empty.0.forward", same, [2]arguments.Argument{norm(4), norm(2)}}, Statistics, [2]Result{Pass, Pass}},
		"inputs of a collective":       {scene{"Distributed.all_to_all_single.0.forward", [2]arguments.Argument{notFinite, one}, [2]arguments.Argument{notFinite, one}}, Statistics, [2]Result{Pass, Error}},
		"another checksum":             {scene{linear, [2]arguments.Argument{like(func(a *arguments.Argument) { a.Checksum = "1" }), one}, same}, MD5, [2]Result{Error, Pass}},
		"no checksum":                  {scene{linear, [2]arguments.Argument{like(func(a *arguments.Argument) { a.Checksum = "N/A" }), one}, same}, MD5, [2]Result{Warning, Pass}},
		"norms, where raw tensors are": {scene{linear, same, [2]arguments.Argument{norm(4), norm(2)}}, Tensor, [2]Result{Pass, Pass}},
	} {
		if got := c.scene.results(c.mode); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
