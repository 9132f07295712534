package msprobe

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tensortap/tensortap/schemas"
)

func TestAShapeThatIsNoListOfSizesIsAProblem(t *testing.T) {
	t.Parallel()
	for text, c := range map[string]struct {
		want []int64
		odd  bool
	}{
		`[2, 3]`:                        {[]int64{2, 3}, false},
		`[]`:                            {nil, false},
		`null`:                          {nil, false},
		`[-1, 4]`:                       {[]int64{-1, 4}, false}, // of a dynamic shape
		`[1.5, "x", null, 1e30]`:        {[]int64{-1, -1, -1, -1}, true},
		`[2, 3.0]`:                      {[]int64{2, -1}, true},
		`[9223372036854775808]`:         {[]int64{-1}, true},
		`[-2]`:                          {[]int64{-1}, true},
		`[[2], {"shape": [1.5]}, true]`: {[]int64{-1, -1, -1}, true},
		`"2"`:                           {nil, true},
		`7`:                             {nil, true},
	} {
		const tensor = `{"type": "torch.Tensor", "dtype": "torch.float32", "shape": %s, "Max": 1}`
		const late = `{"dtype": "torch.float32", "shape": %s, "Max": 1, "type": "torch.Tensor"}`
		ops := fmt.Sprintf(`"Torch.a.0.forward": {"output": [`+tensor+`]}, "Torch.b.0.forward": {"output": [`+tensor+`]}, `+
			`"Torch.c.0.forward": {"input_kwargs": {"k": `+late+`}}`, text, text, text)
		all := readAll(t, dumpOf(t, `{"data": {`+ops+`}}`), 100)
		layout := map[uint64]schemas.LayoutRow{}
		for _, l := range all.layouts {
			layout[l.LayoutID] = l
		}
		if len(all.tensors) != 3 || all.steps[0].DroppedCount != 0 {
			t.Errorf("shape %s: %d tensors, %d dropped; want all 3", text, len(all.tensors), all.steps[0].DroppedCount)
		}
		for _, row := range all.tensors {
			l := layout[row.LayoutID]
			if !slices.Equal(l.Shape, c.want) || l.Dtype != "torch.float32" || l.Kind != kindTensor || row.ElementCount != elements(c.want) {
				t.Errorf("shape %s: %+v of %d elements, want %v", text, l, row.ElementCount, c.want)
			}
		}
		if !c.odd && all.problems.Count == 0 {
			continue
		}
		if all.problems.Count != 3 {
			t.Errorf("shape %s: problems %v, want 3", text, all.problems.First)
			continue
		}
		for i, where := range []string{`op "Torch.a.0.forward": the shape of output.0 `, `op "Torch.b.0.forward": the shape of output.0 `, `op "Torch.c.0.forward": the shape of kwarg.k `} {
			if got := all.problems.First[i].String(); !strings.Contains(got, dumpFile) || !strings.Contains(got, where) {
				t.Errorf("shape %s: problem %q, want file and %q", text, got, where)
			}
		}
	}
}
