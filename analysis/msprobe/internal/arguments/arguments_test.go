package arguments

import (
	"math"
	"testing"

	"github.com/tensortap/tensortap/analysis/rows"
	"github.com/tensortap/tensortap/schemas"
)

func TestWordsAreThoseThatPythonPrints(t *testing.T) {
	t.Parallel()
	yes := uint8(1)
	for name, c := range map[string]struct {
		layout                              schemas.LayoutRow
		dtype, shape, grad, value, checksum string
	}{
		"a tensor":    {schemas.LayoutRow{Kind: "tensor", Dtype: "torch.float32", Shape: []int64{2, 4}, RequiresGrad: &yes}, "torch.float32", "[2, 4]", "True", "", ""},
		"nothing":     {schemas.LayoutRow{Kind: "none"}, "N/A", "N/A", "N/A", "None", "N/A"},
		"a truth":     {schemas.LayoutRow{Kind: "bool", Literal: "true"}, "<class 'bool'>", "[]", "N/A", "True", "5dcee3b3"},
		"a number":    {schemas.LayoutRow{Kind: "float", Literal: "-Infinity"}, "<class 'float'>", "[]", "N/A", "-inf", "6bb5da14"},
		"a size":      {schemas.LayoutRow{Kind: "size", Literal: "[2,3]"}, "torch.Size", "[2, 3]", "N/A", "None", "3f72ac6e"},
		"a slice":     {schemas.LayoutRow{Kind: "slice", Literal: "[null, 3,null]"}, "slice", "(3,)", "N/A", "None", "dc035f1c"},
		"a group":     {schemas.LayoutRow{Kind: "group", Literal: `{"group_ranks":[0, 1]}`}, "torch.ProcessGroup", "[]", "N/A", "[0, 1]", "[0, 1]"},
		"a device":    {schemas.LayoutRow{Kind: "device", Literal: "npu:0"}, "<class 'str'>", "[]", "N/A", "npu:0", "da55dac3"},
		"an ellipsis": {schemas.LayoutRow{Kind: "other", Dtype: "ellipsis", Literal: "..."}, "ellipsis", "[]", "N/A", "...", "1a43b61b"},
		"a format":    {schemas.LayoutRow{Kind: "other", Dtype: memoryFormat, Literal: "torch.preserve_format"}, "<class 'NoneType'>", "[]", "N/A", "None", "00000000"},
	} {
		w := newWords(&c.layout)
		if w.dtype != c.dtype || w.shape != c.shape || w.grad != c.grad || w.value != c.value || w.checksum != c.checksum {
			t.Errorf("%s: %+v, want %s, %s, %s, %s, %s", name, w, c.dtype, c.shape, c.grad, c.value, c.checksum)
		}
	}
}

func TestTextsAreNumbersAsTheDatabaseReadsThem(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{
		"1": 1, "+1": 1, "1e3": 1000, ".5": 0.5, "5.": 5, "-inf": math.Inf(-1), "Infinity": math.Inf(1), "1e400": math.Inf(1), "1e-400": 0, "00012": 12,
	} {
		if got := numberOf(text); !got.Known || got.Value != want {
			t.Errorf("%q is %v, want %g", text, got, want)
		}
	}
	for _, text := range []string{"nan", "-nan", "NaN"} {
		if got := numberOf(text); !got.Known || !math.IsNaN(got.Value) {
			t.Errorf("%q is %v, want NaN", text, got)
		}
	}
	for _, text := range []string{"", "-", " 1", "1 ", "0x10", "1_000", "1e", "1.5.2", "--1", "e5", ".", "1d5", "True", "infi", "None"} {
		if got := numberOf(text); got.Known {
			t.Errorf("%q is %v, want no number", text, got)
		}
	}
}

func TestCallsOfBackwardOpsAreCountedAnew(t *testing.T) {
	t.Parallel()
	d := rows.NewDefinitions()
	names := []string{
		"Functional.linear.4.forward", "Functional.linear.7.backward", "Module.fc.Linear.backward.3", "Functional.linear.2.backward",
		"Module.fc.Linear.backward.1", "Functional.linear.x.backward", "Module.fc.Linear.parameters_grad", "aten.add",
	}
	var program []schemas.ProgramRow
	for i, name := range names {
		id := schemas.OpID(name)
		d.Ops[id] = &schemas.OpRow{OpID: id, Name: name}
		program = append(program, schemas.ProgramRow{ProgramID: 1, Position: uint32(i), OpID: id}) //nolint:gosec // a few
	}
	keys := keysOf(d, program)
	for i, want := range []string{
		"Functional.linear.4.forward", "Functional.linear.0.backward", "Module.fc.Linear.backward.0", "Functional.linear.1.backward",
		"Module.fc.Linear.backward.1", "Functional.linear.x.backward", "Module.fc.Linear.parameters_grad", "",
	} {
		if got := keys[schemas.OpID(names[i])]; got != want {
			t.Errorf("key of %s is %q, want %q", names[i], got, want)
		}
	}
}
