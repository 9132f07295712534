package result_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/tensortap/tensortap/analysis/judge"
	"github.com/tensortap/tensortap/analysis/origin"
	"github.com/tensortap/tensortap/analysis/result"
	"github.com/tensortap/tensortap/schemas"
)

func TestAnOpOfTheBenchAloneIsInTheModuleOfItsOwnRun(t *testing.T) {
	t.Parallel()
	m := newModel()
	m.ops("model", "model", "")
	m.ops("zero", "layers.0", "model")
	m.ops("nine", "layers.9", "model")
	m.op(problemProgram, "mul", "", "nine")
	m.op(benchProgram, "mul", "", "zero")
	answer := m.finish([]judge.Judged{m.ofBench("mul", 1)})
	if got := answer.Unpaired[0].Module; got != "layers.0" {
		t.Errorf("the op of the bench is in module %q, want layers.0", got)
	}
	answer = m.finish([]judge.Judged{m.ofProblem("mul", 1)})
	if got := answer.Unpaired[0].Module; got != "layers.9" {
		t.Errorf("the op of the problem is in module %q, want layers.9", got)
	}
}

func TestWhatAnOpOfOneRunOnlyGaveBeganWithThatOperation(t *testing.T) {
	t.Parallel()
	for _, inProblem := range []bool{false, true} {
		m := newModel()
		m.ops("model", "model", "")
		m.ops("other", "", "model")
		m.ops("softmax", "", "model")
		scaled := m.ofBench("scale", 3)
		if inProblem {
			scaled = m.ofProblem("scale", 3)
		}
		between := m.both("other", "output", "0", 5, 0)
		taken := m.both("softmax", "input", "0", 3, 0.5)
		if inProblem {
			taken.Problem.Min, taken.Problem.Max, taken.Problem.Mean, taken.Problem.L2 = scaled.Problem.Min, scaled.Problem.Max, scaled.Problem.Mean, scaled.Problem.L2
		}
		m.ops("scale", "", "model")
		answer := m.finish([]judge.Judged{m.both("model", "input", "0", 7, 0), scaled, between, taken})
		want := map[bool]string{false: "scale only in bench", true: "scale only in problem"}[inProblem]
		if got := answer.Origins[0]; got.Kind != origin.Operation || got.Operation != want {
			t.Errorf("it began with %s %q, want operation %q", got.Kind, got.Operation, want)
		}
	}
}

func TestDataComesFromOutsideOfTheModel(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		want   origin.Kind
		judged func(*model) []judge.Judged
	}{
		"the root's own": {origin.Data, func(m *model) []judge.Judged {
			return []judge.Judged{m.both("model", "input", "0", 3, 0.5)}
		}},
		// The module is recorded as it ends, after the ops in it.
		"handed on": {origin.Data, func(m *model) []judge.Judged {
			return []judge.Judged{m.both("embed", "input", "0", 3, 0.5), m.both("model", "kwarg", "ids", 3, 0.5)}
		}},
		"of a layer": {origin.UnseenInput, func(m *model) []judge.Judged {
			return []judge.Judged{m.both("model", "input", "0", 5, 0), m.both("embed", "input", "0", 3, 0.5)}
		}},
		"of autograd": {origin.UnseenInput, func(m *model) []judge.Judged {
			return []judge.Judged{laidOut(m.both("loss", "input", "0", 3, 0.5), gradLayout)}
		}},
		"ids that no call gave": {origin.Data, func(m *model) []judge.Judged {
			return []judge.Judged{laidOut(m.both("embed", "input", "0", 3, 0.5), idsLayout)}
		}},
		"ids that a call gave": {origin.UnseenInput, func(m *model) []judge.Judged {
			ids := laidOut(m.both("embed", "input", "0", 3, 0.5), idsLayout)
			given := laidOut(m.both("loss", "output", "0", 3, 0), idsLayout)
			given.Problem.Seq, ids.Problem.Seq, given.Problem.Max, given.Problem.Min, given.Problem.L2 = 1, 2, ids.Problem.Max, ids.Problem.Min, ids.Problem.L2
			return []judge.Judged{given, ids}
		}},
		"ids of a module": {origin.UnseenInput, func(m *model) []judge.Judged {
			return []judge.Judged{laidOut(m.both("layer", "input", "0", 3, 0.5), idsLayout)}
		}},
		"a gradient that nobody is seen to give": {origin.UnseenInput, func(m *model) []judge.Judged {
			return []judge.Judged{m.both("head", "input", "0", 3, 0.5)}
		}},
		"the gradient of a loss": {origin.Data, func(m *model) []judge.Judged {
			scalar := m.both("head", "input", "0", 3, 0.5)
			scalar.Problem.ElementCount, scalar.Bench.ElementCount = 1, 1
			return []judge.Judged{scalar}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newModel()
			m.ops("model", "model", "")
			m.ops("embed", "", "model")
			m.ops("layer", "layers.0", "model")
			m.ops("loss", "", "")
			m.ops("head", "head", "")
			m.definitions.Ops[schemas.OpID("head")].Phase = schemas.PhaseBackward
			if got := m.finish(c.judged(m)).Origins[0].Kind; got != c.want {
				t.Errorf("its kind is %s, want %s", got, c.want)
			}
		})
	}
}

// laidOut is a pair of tensors of another layout.
func laidOut(j judge.Judged, layout uint64) judge.Judged {
	j.Problem.LayoutID, j.Bench.LayoutID = layout, layout
	return j
}

func TestNoiseDoesNotHideAJump(t *testing.T) {
	t.Parallel()
	m := newModel()
	m.ops("linear", "", "")
	step := func(relative float64) []judge.Judged {
		return []judge.Judged{m.both("linear", "input", "0", 1, 0), m.both("linear", "output", "0", 2, relative)}
	}
	jumps := m.finish(step(0), step(3e-7), step(3e-6), step(0.5), step(0.9)).Jumps
	if len(jumps) != 1 || jumps[0].Step != 3 || jumps[0].Op != "linear" || jumps[0].Error != 0.5 || jumps[0].NoiseBefore != 3e-6 {
		t.Errorf("jumps %+v, want one at step 3 from 3e-6 to 0.5", jumps)
	}
	if jumps := m.finish(step(0), step(0.5), step(0.9)).Jumps; len(jumps) != 0 {
		t.Errorf("jumps %+v, want none: the first difference is it", jumps)
	}
	if jumps := m.finish(step(3e-6), step(3e-5), step(2e-4)).Jumps; len(jumps) != 0 {
		t.Errorf("jumps %+v, want none: the error grows little by little", jumps)
	}
	bad := step(0.5)
	bad[1].Class, bad[1].Numeric, bad[1].Error, bad[1].Side = judge.NotFinite, judge.NumericNotFinite, math.NaN(), judge.SideProblem
	if jumps := m.finish(step(3e-6), bad).Jumps; len(jumps) != 1 || jumps[0].Step != 1 {
		t.Errorf("jumps %+v, want one where NaN appears", jumps)
	}
}

func TestLayersAreOfTheFirstStepThatDiffers(t *testing.T) {
	t.Parallel()
	m := newModel()
	m.ops("layer", "layers.0", "")
	m.definitions.Ops[schemas.OpID("layer")].LayerIndex = 0
	step := func(relative float64) []judge.Judged {
		return []judge.Judged{m.both("layer", "input", "0", 1, 0), m.both("layer", "output", "0", 2, relative)}
	}
	want := result.Layer{Step: 1, Direction: "forward", Index: 0, Name: "layers.0", PairedCount: 2, DifferingCount: 1, GreatestError: 0.5}
	if got := m.finish(step(0), step(0.5), step(0.9)).Layers; !slices.Equal(got, []result.Layer{want}) {
		t.Errorf("layers %+v, want %+v", got, want)
	}
	want = result.Layer{Step: 0, Direction: "forward", Index: 0, Name: "layers.0", PairedCount: 2}
	if got := m.finish(step(0), step(0)).Layers; !slices.Equal(got, []result.Layer{want}) {
		t.Errorf("layers where nothing differs %+v, want %+v", got, want)
	}
}

// TestWhatAnOptimizerDoesStandsAfterAllLayers has an optimizer call an API whose name is that of a forward pass.
func TestWhatAnOptimizerDoesStandsAfterAllLayers(t *testing.T) {
	t.Parallel()
	m := newModel()
	m.ops("layer", "layers.0", "")
	m.ops("optimizer", "", "")
	m.ops("Torch.mul.0.forward", "", "optimizer")
	m.definitions.Ops[schemas.OpID("layer")].LayerIndex = 0
	layers := m.finish([]judge.Judged{m.both("layer", "output", "0", 2, 0), m.both("Torch.mul.0.forward", "output", "0", 2, 0.5)}).Layers
	want := result.Layer{Direction: "backward", Index: -1, Name: "optimizer", PairedCount: 1, DifferingCount: 1, GreatestError: 0.5}
	if len(layers) != 2 || layers[0].Name != "layers.0" || layers[1] != want {
		t.Errorf("layers %+v, want layers.0 and then %+v", layers, want)
	}
}

func TestALayerOfNotFiniteValuesHasNoErrorOfZero(t *testing.T) {
	t.Parallel()
	m := newModel()
	m.ops("layer", "layers.0", "")
	bad := m.both("layer", "output", "0", 2, 0.5)
	bad.Class, bad.Numeric, bad.Error, bad.Side = judge.NotFinite, judge.NumericNotFinite, math.NaN(), judge.SideProblem
	equal, off := m.both("layer", "input", "0", 1, 0), m.both("layer", "input", "1", 1, 0.25)
	if got := m.finish([]judge.Judged{equal, bad}).Layers; len(got) != 1 || !math.IsNaN(got[0].GreatestError) || got[0].NotFiniteCount != 1 {
		t.Errorf("layers %+v, want one whose error is not known", got)
	}
	if got := m.finish([]judge.Judged{equal, off, bad}).Layers; len(got) != 1 || got[0].GreatestError != 0.25 {
		t.Errorf("layers %+v, want one with the error that is finite", got)
	}
}

func TestIfStrictItBeginsAtTheFirstOpThatStandsAlone(t *testing.T) {
	t.Parallel()
	m := newModel()
	m.ops("linear", "", "")
	m.op(problemProgram, "Functional.silu.1.forward", "", "")
	m.op(benchProgram, "Functional.gelu.0.forward", "", "")
	same := m.both("linear", "output", "0", 1, 0)
	extra, lacking := m.ofProblem("Functional.silu.1.forward", 2), m.ofBench("Functional.gelu.0.forward", 2)
	off := m.both("linear", "output", "1", 3, 0.5)
	for what, c := range map[string]struct {
		strict bool
		steps  [][]judge.Judged
		want   string
	}{
		"only in the problem":       {true, [][]judge.Judged{{same}, {same, extra}}, "[1 Functional.silu.1.forward operation Functional.silu.1.forward only in problem]"},
		"only in the bench":         {true, [][]judge.Judged{{same, lacking}}, "[0 Functional.gelu.0.forward operation Functional.gelu.0.forward only in bench]"},
		"a later step differs":      {true, [][]judge.Judged{{same, extra}, {off}}, "[0 Functional.silu.1.forward operation Functional.silu.1.forward only in problem]"},
		"the same step differs":     {true, [][]judge.Judged{{same, extra, off}}, "[0 Functional.silu.1.forward operation Functional.silu.1.forward only in problem]"},
		"an earlier step differs":   {true, [][]judge.Judged{{off}, {same, extra}}, "[0 linear computed ]"},
		"not strict":                {false, [][]judge.Judged{{same, extra}}, "[]"},
		"strict, and nothing alone": {true, [][]judge.Judged{{same}}, "[]"},
	} {
		m.strict = c.strict
		var got []string
		for _, o := range m.finish(c.steps...).Origins {
			got = append(got, fmt.Sprint(o.Step, " ", o.Op, " ", o.Kind, " ", o.Operation))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%s: %v, want %s", what, got, c.want)
		}
	}
}

func TestNaNWithoutPartnerIsCounted(t *testing.T) {
	t.Parallel()
	m := newModel()
	m.ops("linear", "", "")
	bad := m.ofProblem("linear", math.NaN())
	lost := m.ofBench("linear", math.NaN())
	lost.Class = judge.Unknown
	if got := m.finish([]judge.Judged{bad, lost, m.ofProblem("linear", 1)}).Summary[0].BadAloneCounts; got != [2]uint64{1, 1} {
		t.Errorf("%v with NaN stand alone, want one of each run", got)
	}
}

func TestErrorsOfLiteralsAreNotAmongThoseOfTensors(t *testing.T) {
	t.Parallel()
	m := newModel()
	m.ops("layer", "layers.0", "")
	literal := m.both("layer", "kwarg", "eps", 1, 9999)
	literal.Problem.ElementCount, literal.Bench.ElementCount, literal.Class, literal.Structure = 0, 0, judge.Structure, true
	judged := []judge.Judged{m.both("layer", "input", "0", 1, 1e-5), literal, m.both("layer", "output", "0", 2, 0.5)}
	got := m.finish(judged)
	if s := got.Summary[0]; s.GreatestError != 0.5 || s.DifferingCount != 3 || s.StructureCount != 1 {
		t.Errorf("summary %+v, want an error of 0.5, and the literal counted", s)
	}
	if l := got.Layers[0]; l.GreatestError != 0.5 || l.DifferingCount != 3 {
		t.Errorf("layer %+v, want an error of 0.5, and the literal counted", l)
	}
	steps := result.NewOpSteps("layer", m.definitions)
	steps.Place(m.at(0), judged)
	if s := steps.Steps(1); s[0].GreatestError != 0.5 || s[0].DifferingCount != 3 {
		t.Errorf("steps of the op %+v, want an error of 0.5", s)
	}
}

func TestDetailOfOneRunIsNotOnlyInThatRun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		problem, bench string // levels
		more           bool   // the bench has an op of that level in the step, too
		want           uint64
	}{
		"captured":           {"L0", "L0", false, 0},
		"another level":      {"mix", "L0", false, 0},
		"levels not known":   {"", "", false, 0},
		"the bench lacks it": {"mix", "mix", false, 1},
		"both have ops":      {"L0", "L0", true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newModel()
			m.problem.Described.Level, m.bench.Described.Level = c.problem, c.bench
			m.ops("layer", "layers.0", "")
			m.ops("linear", "", "layer")
			m.op(problemProgram, "gelu", "", "layer")
			judged := []judge.Judged{m.ofProblem("gelu", 1), m.both("layer", "output", "0", 2, 0)}
			if c.more {
				judged = append(judged, m.both("linear", "output", "0", 3, 0))
			}
			got := m.finish(judged).Summary[0]
			if got.OnlyProblemCount != c.want || got.UnknownCount != 1-c.want || got.AloneUnknownCount != 0 {
				t.Errorf("%d only in the problem, %d unknown, %d of those alone, want %d, %d, 0", got.OnlyProblemCount, got.UnknownCount, got.AloneUnknownCount, c.want, 1-c.want)
			}
		})
	}
}

func TestWhatWasNotObservedBeforeTheOriginIsSaid(t *testing.T) {
	t.Parallel()
	m := newModel()
	m.ops("linear", "", "")
	m.problem.Unseen = []schemas.UnseenRow{
		{Rank: 0, Step: 1, Reason: "compiled", Subject: "model.layers", UnseenCount: 2},
		{Rank: 0, Step: 0, Reason: "compiled", Subject: "model.layers", UnseenCount: 2},
		{Rank: 0, Step: 0, Reason: "filtered", Subject: "model.norm", UnseenCount: 7},
		{Rank: 0, Step: 2, Reason: "cuda graph", UnseenCount: 1},
		{Rank: 1, Step: 0, Reason: "cuda graph", UnseenCount: 1},
	}
	origins := m.finish([]judge.Judged{m.both("linear", "output", "0", 1, 0)}, []judge.Judged{m.both("linear", "output", "0", 1, 0.5)}).Origins
	if got, want := origins[0].Unseen, "problem: compiled model.layers 4 times"; got != want || !origins[0].AtOrBefore {
		t.Errorf("unseen before the origin: %q, at or before it %t, want %q, true", got, origins[0].AtOrBefore, want)
	}
	m.problem.Unseen = m.problem.Unseen[2:]
	origins = m.finish([]judge.Judged{m.both("linear", "output", "0", 1, 0)}, []judge.Judged{m.both("linear", "output", "0", 1, 0.5)}).Origins
	if origins[0].Unseen != "" || origins[0].AtOrBefore {
		t.Errorf("unseen before the origin: %q, want nothing", origins[0].Unseen)
	}
}
