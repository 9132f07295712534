package msprobedump

import (
	"math"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/schemas"
)

func printed(n *node) string {
	var b strings.Builder
	p := newPrinter(&b)
	p.print(n, 0)
	_ = p.out.Flush()
	return strings.NewReplacer("\n", "", ": ", ":").Replace(strings.Join(strings.Fields(b.String()), ""))
}

func TestNumbersAreThoseOfPython(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]float64{
		"NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1), "0.0": 0, "-0.0": math.Copysign(0, -1), "2.0": 2, "1e-05": 1e-5,
		"0.0001": 1e-4, "1e+16": 1e16, "9999999999999998.0": 9999999999999998, "5e-324": 5e-324, "0.08079304546117783": 0.08079304546117783,
		"-9.313225746154785e-10": -9.313225746154785e-10, "1.7976931348623157e+308": math.MaxFloat64,
	} {
		if got := float(v); got != want {
			t.Errorf("float(%v) = %s, want %s", v, got, want)
		}
	}
	for want, v := range map[string]float64{"997": 997, "0": math.Copysign(0, -1), "9007199254740992": 1 << 53, "2.5": 2.5, "NaN": math.NaN()} {
		if got := whole(v); got != want {
			t.Errorf("whole(%v) = %s, want %s", v, got, want)
		}
	}
}

func TestMeansAndNormsAreOfTheirDtype(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		dtype   string
		v, want float64
	}{
		{"torch.float32", 0.1, float64(float32(0.1))},
		{"torch.float64", 0.1, 0.1},
		{"torch.bfloat16", 0.1, 0.10009765625},
		{"torch.bfloat16", -257, -256},
		{"torch.bfloat16", 259, 260},
		{"torch.bfloat16", 1e39, math.Inf(1)},
		{"torch.float16", 0.1, 0.0999755859375},
		{"torch.float16", 65519, 65504},
		{"torch.float16", -65520, math.Inf(-1)},
		{"torch.float16", 3e-8, 0x1p-24},
		{"torch.float16", 0, 0},
	} {
		if got := inDtype(c.dtype, c.v); got != c.want {
			t.Errorf("%g as %s is %g, want %g", c.v, c.dtype, got, c.want)
		}
	}
}

func TestPathsNest(t *testing.T) {
	t.Parallel()
	for paths, want := range map[string]string{
		"0 1":         `[0,1]`,
		"0.0 0.1 2":   `[[0,1],[],2]`,
		"0.a.1 0.b":   `[{"a":[[],0],"b":1}]`,
		"x y.z":       `{"x":0,"y":{"z":1}}`,
		"a a.b":       `{"a":0,"a.b":1}`,
		"01 1":        `{"01":0,"1":1}`,
		"999999999 1": `{"999999999":0,"1":1}`,
		"0 0":         `{"0":0,"0":1}`,
		"":            `[]`,
	} {
		var values []placed
		for i, path := range strings.Fields(paths) {
			values = append(values, placed{path, token(string(rune('0' + i)))})
		}
		if got := printed(tree(values, list())); got != want {
			t.Errorf("%q nest to %s, want %s", paths, got, want)
		}
	}
	if got := printed(tree([]placed{{"", token("7")}}, list())); got != "7" {
		t.Errorf("a record without a path is %s", got)
	}
}

func TestArgumentsAreWrittenAsMsprobeNamesThem(t *testing.T) {
	t.Parallel()
	grad := uint8(1)
	for want, l := range map[string]schemas.LayoutRow{
		`null`:                                                             {Kind: "none"},
		`{"type":"int","value":3}`:                                         {Kind: "int", Literal: "3"},
		`{"type":"float","value":NaN}`:                                     {Kind: "float", Literal: "nan"},
		`{"type":"float32","value":1e-06}`:                                 {Kind: "float", Dtype: "float32", Literal: "1e-06"},
		`{"type":"bool","value":true}`:                                     {Kind: "bool", Literal: "True"},
		`{"type":"str","value":"3"}`:                                       {Kind: "str", Literal: "3"},
		`{"type":"torch.Size","value":[2,3]}`:                              {Kind: "size", Literal: "[2,3]"},
		`{"type":"torch.device","value":"cpu:None"}`:                       {Kind: "device", Literal: "cpu:None"},
		`{"type":"torch.dtype","value":"torch.float32"}`:                   {Kind: "dtype", Literal: "torch.float32"},
		`{"type":"slice","value":[null,2,1]}`:                              {Kind: "slice", Literal: "[null,2,1]"},
		`{"type":"torch.ProcessGroup","group_ranks":[0,1],"group_id":"a"}`: {Kind: "group", Literal: `{"group_ranks":[0,1],"group_id":"a"}`},
		`{"type":"torch.memory_format","format":"contiguous_format"}`:      {Kind: "other", Dtype: "torch.memory_format", Literal: "contiguous_format"},
		`{"type":"torch.distributed.ReduceOp","value":"SUM"}`:              {Kind: "other", Dtype: "torch.distributed.ReduceOp", Literal: "SUM"},
		`{"class_type":"torch.distributed.P2POp","op":"isend","peer":1}`:   {Kind: "other", Dtype: peerOp, Literal: `{"op":"isend","peer":1}`},
		`{"type":"torch.distributed.tensor.DTensor","dtype":"torch.float32","shape":[2],"Max":null,"Min":null,"Mean":null,"Norm":null,"requires_grad":true,` +
			`"placements":[{"Shard":{"dim":0}}]}`: {
			Kind: "tensor", Dtype: "torch.float32", Shape: []int64{2}, RequiresGrad: &grad,
			Literal: "torch.distributed.tensor.DTensor", Placement: `{"placements":[{"Shard":{"dim":0}}]}`,
		},
	} {
		d := Dump{Source: "msprobe"}
		if got := printed(d.leaf(&Value{Layout: &l})); got != want {
			t.Errorf("%+v is written as\n%s, want\n%s", l, got, want)
		}
	}
}

func TestWhatMsprobeHasNoRecordForIsNull(t *testing.T) {
	t.Parallel()
	cache := schemas.LayoutRow{Kind: "other", Dtype: "transformers.cache_utils.DynamicCache"}
	if got := printed((&Dump{Source: "collector"}).leaf(&Value{Layout: &cache})); got != "null" {
		t.Errorf("a cache is written as %s", got)
	}
}

func TestParentsThatGoInACircleEnd(t *testing.T) {
	t.Parallel()
	d := Dump{Ops: []Op{{Name: "Module.a.A.forward.0", Parent: "Module.b.B.forward.0"}, {Name: "Module.b.B.forward.0", Parent: "Module.a.A.forward.0"}}}
	n := object()
	d.construct(n, 2)
	if got, want := printed(n), `{"Module.b.B.forward.0":["Module.a.A.forward.0",0],"Module.a.A.forward.0":["Module.b.B.forward.0",0],"megatron_micro_step_number":2}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// What our own collector measures of the finite elements is written as msProbe, which does not set others apart, has it.
func TestStatisticsOfOtherSourcesAreWhatMsprobeWouldReport(t *testing.T) {
	t.Parallel()
	const all = schemas.MeasuredMin | schemas.MeasuredMax | schemas.MeasuredMean | schemas.MeasuredL2
	measured := schemas.TensorRow{Measured: all, ElementCount: 4, ValueMin: -1, ValueMax: 3, ValueMean: 1, ValueL2: 4}
	with := func(change func(*schemas.TensorRow)) schemas.TensorRow {
		row := measured
		change(&row)
		return row
	}
	for _, c := range []struct {
		dtype string
		shape []int64
		row   schemas.TensorRow
		want  string // Max, Min, Mean, Norm
	}{
		{"torch.float32", []int64{4}, measured, "3.0 -1.0 1.0 4.0"},
		{"torch.float32", []int64{4}, with(func(r *schemas.TensorRow) { r.NaNCount, r.PositiveInfinityCount = 1, 1 }), "NaN NaN NaN NaN"},
		{"torch.float32", []int64{4}, with(func(r *schemas.TensorRow) { r.PositiveInfinityCount = 1 }), "Infinity -1.0 Infinity Infinity"},
		{"torch.float32", []int64{4}, with(func(r *schemas.TensorRow) { r.NegativeInfinityCount = 1 }), "3.0 -Infinity -Infinity Infinity"},
		{"torch.float32", []int64{4}, with(func(r *schemas.TensorRow) { r.PositiveInfinityCount, r.NegativeInfinityCount = 1, 1 }), "Infinity -Infinity NaN Infinity"},
		{"torch.bfloat16", []int64{4}, with(func(r *schemas.TensorRow) { r.NegativeInfinityCount = 4 }), "-Infinity -Infinity -Infinity Infinity"},
		{"torch.int64", []int64{4}, measured, "3 -1 null null"},
		{"torch.int64", nil, with(func(r *schemas.TensorRow) { r.ElementCount = 1 }), "3 -1 1 4"},
		{"torch.float64", []int64{4}, measured, "3.0 -1.0 null null"},
		{"torch.bool", []int64{4}, with(func(r *schemas.TensorRow) { r.ValueMin = 0 }), "true false null null"},
		{"torch.complex64", []int64{4}, measured, "3.0 -1.0 1.0 null"},
		{"torch.float8_e4m3fn", []int64{4}, measured, "null null null null"},
		{"torch.float32", []int64{0}, with(func(r *schemas.TensorRow) { r.ElementCount = 0 }), "null null null null"},
		{"torch.float32", []int64{4}, with(func(r *schemas.TensorRow) { r.Measured = schemas.MeasuredMax }), "3.0 null null null"},
	} {
		d := Dump{Source: "collector"}
		n := d.leaf(&Value{Layout: &schemas.LayoutRow{Kind: "tensor", Dtype: c.dtype, Shape: c.shape}, Row: c.row})
		got := n.items[3].token + " " + n.items[4].token + " " + n.items[5].token + " " + n.items[6].token
		if got != c.want {
			t.Errorf("%s of %d elements: %s, want %s", c.dtype, c.row.ElementCount, got, c.want)
		}
	}
}
