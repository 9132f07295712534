package families_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/analysis/compare"
	"github.com/tensortap/tensortap/analysis/report"
	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

const (
	outputOfMLP  = "Module.model.layers.1.mlp.LlamaMLP.forward.0"
	outputOfGate = "Module.model.layers.1.mlp.gate_proj.Linear.forward.0"
	outputOfQ    = "Module.model.layers.0.self_attn.q_proj.Linear.forward.0"
)

// calibrated compares two runs as told does, with a run that calibrates.
func calibrated(t *testing.T, source *cross, problem, by string) (*compare.Answer, error) {
	t.Helper()
	request := compare.DefaultRequest()
	request.Problem, request.Benches, request.Calibrate, request.ChooseMap, request.Merge = problem, []string{"hf"}, by, true, true
	return compare.Run(t.Context(), source, request)
}

// TestNoiseOfTheBenchsProgramIsNoDifference: the MLP of the problem is off by more than rounding in bfloat16 explains, and so is
// that of the bench's program in other batches. A part that is joined is calibrated, too.
func TestNoiseOfTheBenchsProgramIsNoDifference(t *testing.T) {
	t.Parallel()
	source := newCross(t, "hf", "vl", "vlbad")
	source.again("other batches", func(op, place string, o *rows.Observation) {
		if place == "output.0" && (op == outputOfMLP || op == outputOfQ) {
			multiply(o, 1.04)
		}
	})
	for _, run := range []string{"vl", "vlbad"} {
		source.scale(run, outputOfMLP, "0", 1.06)
		source.scale(run, "Module.model.layers.0.self_attn.qkv_proj.QKVParallelLinear.forward.0", "0", 1.03)
	}
	if _, page := told(t, source, "vl", "hf"); !strings.HasPrefix(page, "DIFFERS ") {
		t.Fatalf("without a calibration: %s", page)
	}
	answer, err := calibrated(t, source, "vl", "other batches")
	if err != nil {
		t.Fatal(err)
	}
	c := answer.Calibrated
	if len(answer.Origins) != 0 || c.Run != "other batches" || c.Widened != 2 || c.Faulty != 0 || c.Unmeasured != 0 || math.Abs(c.Greatest-0.08) > 0.01 {
		t.Errorf("origins %+v under %+v", answer.Origins, c)
	}
	answer, err = calibrated(t, source, "vlbad", "other batches")
	if err != nil || len(answer.Origins) != 1 || !strings.Contains(answer.Origins[0].Op, "layers.1.mlp.gate_up_proj") {
		t.Errorf("a scaled weight: %+v, %v", answer, err)
	}
}

// TestFaultOfACalibrationWidensNothing: it is counted and named.
func TestFaultOfACalibrationWidensNothing(t *testing.T) {
	t.Parallel()
	source := newCross(t, "hf", "vlbad")
	for name, fault := range map[string]func(*rows.Observation){
		"scaled": func(o *rows.Observation) { multiply(o, 3) }, "not a number": func(o *rows.Observation) { o.NaNCount, o.L2 = 1, math.NaN() },
	} {
		source.again(name, func(op, place string, o *rows.Observation) {
			if op == outputOfGate && place == "output.0" {
				fault(o)
			}
		})
		answer, err := calibrated(t, source, "vlbad", name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c := answer.Calibrated; len(answer.Origins) != 1 || c.Faulty != 1 || c.Widened != 0 || !strings.Contains(c.FirstFault, "gate_proj") {
			t.Errorf("%s: origins %+v under %+v", name, answer.Origins, c)
		}
	}
}

func TestWhatACalibrationLacksIsTold(t *testing.T) {
	t.Parallel()
	source := newCross(t, "hf", "vl")
	source.again("other batches", func(string, string, *rows.Observation) {})
	source.ByName["other batches"].Missing = []rows.Completeness{{Rank: 3, Explanation: "7 rows are not stored"}}
	answer, err := calibrated(t, source, "vl", "other batches")
	if err != nil {
		t.Fatal(err)
	}
	var said report.Comparison
	answer.Fill(&said)
	if gaps := said.Completeness.Gaps(); !slices.Equal(gaps, []string{"run other batches rank 3: 7 rows are not stored"}) {
		t.Errorf("gaps %q", gaps)
	}
}

func TestRunThatIsNoCalibrationIsRefused(t *testing.T) {
	t.Parallel()
	source := newCross(t, "hf", "vl", "qwen3-hf")
	source.again("other weights", func(_, place string, o *rows.Observation) {
		if place == "output.0" {
			multiply(o, 2)
		}
	})
	other := &schemas.LayoutRow{Kind: "tensor", Dtype: "torch.bfloat16", Shape: []int64{3, 5}}
	other.LayoutID = schemas.LayoutID(other)
	source.Known.Layouts[other.LayoutID] = other
	source.again("other numbers of tokens", func(_, _ string, o *rows.Observation) { o.LayoutID = other.LayoutID })
	source.again("other floats", func(string, string, *rows.Observation) {})
	source.ByName["other floats"].MainDtype = "torch.float32"
	for by, want := range map[string]string{
		"hf": "it is compared itself", "vl": "it is compared itself",
		"other floats": "most of its tensors are torch.float32", "other numbers of tokens": "have a counterpart of their shape", "qwen3-hf": "it has a fault, or other weights or tokens", "other weights": "it has a fault, or other weights or tokens",
	} {
		if _, err := calibrated(t, source, "vl", by); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("calibrate with %s: %v, want %q", by, err, want)
		}
	}
}
